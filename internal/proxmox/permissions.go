package proxmox

import (
	"context"
	"fmt"
	"net/url"
	"path"

	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
)

// Permissions are the privileges of the token, by path ("/vms/100") and privilege ("VM.Audit"). The value reports whether the privilege
// also applies below the path.
type Permissions map[string]map[string]bool

// Permissions reads the privileges of the token.
//
// The library's type is not used: it fails on a 1 that comes as a string.
//
// Source: PVE API, GET /access/permissions.
func (r *Reader) Permissions(ctx context.Context) (Permissions, error) {
	return r.PermissionsOf(ctx, "")
}

// PermissionsOf reads the privileges of another token, "user@realm!name", or of this one if the name is "". Those of another user's token need Sys.Audit
// on /access.
//
// Source: PVE API, GET /access/permissions, userid.
func (r *Reader) PermissionsOf(ctx context.Context, token string) (Permissions, error) {
	path, of := "/access/permissions", ""
	if token != "" {
		path, of = path+"?userid="+url.QueryEscape(token), " of "+token
	}
	reply, err := get[map[string]map[string]reply.Scalar](ctx, r, &wire.Exchange{Route: route.Permissions, Path: path})
	if err != nil {
		return nil, fmt.Errorf("read permissions%s: %w", of, err)
	}
	granted := make(Permissions, len(reply))
	for object, privileges := range reply {
		granted[object] = make(map[string]bool, len(privileges))
		for privilege, propagates := range privileges {
			granted[object][privilege] = propagates.Flag()
		}
	}
	return granted, nil
}

// Allow reports whether the token has a privilege on an object ("/vms/100"). The nearest path that Proxmox
// listed decides: a rule for a narrower path replaces a rule for a wider path.
func (p Permissions) Allow(object, privilege string) bool {
	for at := path.Clean(object); ; at = path.Dir(at) {
		privileges, listed := p[at]
		if listed {
			propagates, has := privileges[privilege]
			return has && (propagates || at == object)
		}
		if at == "/" || at == "." {
			return false
		}
	}
}
