package proxmox

import (
	"context"
	"fmt"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
)

// TagRules are the datacenter options that decide which tags a token without Sys.Modify may set.
type TagRules struct {
	Access     string   // free, existing, list or none; "" is free
	Registered []string // only a token with Sys.Modify may set or remove these
}

// TagRules reads the options. Without Sys.Audit on / Proxmox shows none of them.
//
// Source: PVE API, GET /cluster/options.
func (r *Reader) TagRules(ctx context.Context) (TagRules, error) {
	type options struct {
		Registered []string `json:"registered-tags"`
		Access     struct {
			Allow string `json:"user-allow"`
		} `json:"user-tag-access"`
	}
	reply, err := get[options](ctx, r, &wire.Exchange{Route: route.Other, Path: "/cluster/options"})
	if err != nil {
		return TagRules{}, fmt.Errorf("read datacenter options: %w", err)
	}
	return TagRules{Access: reply.Access.Allow, Registered: reply.Registered}, nil
}
