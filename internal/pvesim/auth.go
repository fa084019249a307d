package pvesim

import (
	"slices"
	"strings"
	"time"
)

var (
	agentPrivileges = strings.Fields(`Datastore.AllocateSpace Datastore.AllocateTemplate Datastore.Audit Pool.Allocate Pool.Audit
		SDN.Audit SDN.Use Sys.Audit VM.Allocate VM.Audit VM.Backup VM.Clone VM.Config.CDROM VM.Config.CPU VM.Config.Cloudinit
		VM.Config.Disk VM.Config.HWType VM.Config.Memory VM.Config.Network VM.Config.Options VM.Console VM.GuestAgent.Audit
		VM.Migrate VM.PowerMgmt VM.Snapshot VM.Snapshot.Rollback`)
	auditPrivileges = strings.Fields("Datastore.Audit Mapping.Audit Pool.Audit SDN.Audit Sys.Audit VM.Audit VM.GuestAgent.Audit")
	allPrivileges   = strings.Fields(`Datastore.Allocate Datastore.AllocateSpace Datastore.AllocateTemplate Datastore.Audit
		Group.Allocate Mapping.Audit Mapping.Modify Mapping.Use Permissions.Modify Pool.Allocate Pool.Audit Realm.Allocate
		Realm.AllocateUser SDN.Allocate SDN.Audit SDN.Use Sys.AccessNetwork Sys.Audit Sys.Console Sys.Incoming Sys.Modify
		Sys.PowerMgmt Sys.Syslog User.Modify VM.Allocate VM.Audit VM.Backup VM.Clone VM.Config.CDROM VM.Config.CPU
		VM.Config.Cloudinit VM.Config.Disk VM.Config.HWType VM.Config.Memory VM.Config.Network VM.Config.Options VM.Console
		VM.GuestAgent.Audit VM.GuestAgent.FileRead VM.GuestAgent.FileSystemMgmt VM.GuestAgent.FileWrite
		VM.GuestAgent.Unrestricted VM.Migrate VM.PowerMgmt VM.Replicate VM.Snapshot VM.Snapshot.Rollback`)
	// configPrivileges are the privileges that permit the config call. Any one of them is enough; each key is then checked by itself.
	configPrivileges = []string{
		"VM.Config.Disk", "VM.Config.CDROM", "VM.Config.CPU", "VM.Config.Memory", "VM.Config.Network", "VM.Config.HWType",
		"VM.Config.Options", "VM.Config.Cloudinit",
	}
)

// roles are the predefined roles of Proxmox with their privileges.
var roles = map[string][]string{
	"Administrator":     allPrivileges,
	"PVEAuditor":        auditPrivileges,
	"PVEVMAdmin":        privilegesOf("VM."),
	"PVEVMUser":         strings.Fields("VM.Audit VM.Backup VM.Config.CDROM VM.Config.Cloudinit VM.Console VM.GuestAgent.Audit VM.PowerMgmt"),
	"PVETemplateUser":   strings.Fields("VM.Audit VM.Clone"),
	"PVEDatastoreAdmin": privilegesOf("Datastore."),
	"PVEDatastoreUser":  strings.Fields("Datastore.AllocateSpace Datastore.Audit"),
	"PVEPoolAdmin":      privilegesOf("Pool."),
	"PVEPoolUser":       strings.Fields("Pool.Audit"),
	"PVESDNAdmin":       privilegesOf("SDN."),
	"PVESDNUser":        strings.Fields("SDN.Audit SDN.Use"),
	"PVEMappingAdmin":   privilegesOf("Mapping."),
	"PVEMappingUser":    strings.Fields("Mapping.Audit Mapping.Use"),
	"PVESysAdmin":       strings.Fields("Sys.Audit Sys.Console Sys.Syslog"),
}

func privilegesOf(prefix string) []string {
	return slices.DeleteFunc(slices.Clone(allPrivileges), func(p string) bool { return !strings.HasPrefix(p, prefix) })
}

// credential is a token or a user with its resolved ACL: the privileges at each path that the ACL names.
type credential struct {
	Token
	disabled bool
	grants   []grant // longest path first
}

type grant struct {
	path       string // without a trailing slash
	privileges map[string]bool
}

func (s *Sim) newCredential(t Token) *credential {
	c := &credential{Token: t}
	acl := t.ACL
	if c.user() == "root@pam" && len(acl) == 0 {
		acl = []ACL{{Path: "/", Role: "Administrator"}}
	}
	for _, a := range acl {
		g := c.grantAt(strings.TrimSuffix(a.Path, "/"))
		for _, p := range slices.Concat(roles[a.Role], a.Privileges) {
			if p = s.privilegeName(p); p != "" {
				g.privileges[p] = true
			}
		}
	}
	slices.SortFunc(c.grants, func(a, b grant) int { return len(b.path) - len(a.path) })
	return c
}

func (t *credential) grantAt(path string) grant {
	for _, g := range t.grants {
		if g.path == path {
			return g
		}
	}
	g := grant{path: path, privileges: map[string]bool{}}
	t.grants = append(t.grants, g)
	return g
}

// user returns the part of a token id before the exclamation mark.
func (t *credential) user() string {
	u, _, _ := strings.Cut(t.ID, "!")
	return u
}

// privileges returns the privileges of the deepest ACL entry at or above the path.
func (t *credential) privileges(path string) map[string]bool {
	for _, g := range t.grants {
		if g.path == "" || strings.HasPrefix(path, g.path) && (len(path) == len(g.path) || path[len(g.path)] == '/') {
			return g.privileges
		}
	}
	return nil
}

// holds reports whether the token has the privilege on the path itself, limited to the privileges of its user. The state is locked.
func (s *Sim) holds(t *credential, path, privilege string) bool {
	u := s.users[t.user()]
	if u == nil {
		return t.privileges(path)[privilege]
	}
	return u.privileges(path)[privilege] && (t.SharesUser || t.privileges(path)[privilege])
}

// allows reports whether the token has the privilege on the path. The privileges on a pool count for the pool's guests. The state is
// locked.
func (s *Sim) allows(t *credential, path, privilege string) bool {
	if s.holds(t, path, privilege) {
		return true
	}
	if id, ok := strings.CutPrefix(path, "/vms/"); ok {
		if p := s.poolOf(atoi(id)); p != "" {
			return s.holds(t, "/pool/"+p, privilege)
		}
	}
	return false
}

// authenticate returns the token of an Authorization header.
func (s *Sim) authenticate(header string) (*credential, error) {
	if header == "" {
		return nil, unauthorized("No ticket")
	}
	cred, ok := strings.CutPrefix(header, "PVEAPIToken=")
	id, secret, cut := strings.Cut(cred, "=")
	if ok && cut {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t := s.tokens[id]; t != nil && t.Secret == secret && s.isValid(t) {
			return t, nil
		}
	}
	return nil, unauthorized("Authentication failed!")
}

// isValid reports whether a token with the right secret is accepted: its user is enabled and the token has not expired. The state is
// locked.
func (s *Sim) isValid(t *credential) bool {
	if u := s.users[t.user()]; u != nil && u.disabled {
		return false
	}
	return t.Expires.IsZero() || time.Now().Before(t.Expires)
}
