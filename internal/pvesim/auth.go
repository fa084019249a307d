package pvesim

import (
	"slices"
	"strings"
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
	// configPrivileges are those of which any one opens the config call; the keys are checked one by one.
	configPrivileges = []string{
		"VM.Config.Disk", "VM.Config.CDROM", "VM.Config.CPU", "VM.Config.Memory", "VM.Config.Network", "VM.Config.HWType",
		"VM.Config.Options", "VM.Config.Cloudinit",
	}
)

func rolePrivileges(role string) []string {
	switch role {
	case "Administrator":
		return allPrivileges
	case "PVEAuditor":
		return auditPrivileges
	case "PVEVMAdmin":
		return slices.DeleteFunc(slices.Clone(allPrivileges), func(p string) bool { return !strings.HasPrefix(p, "VM.") })
	}
	return nil
}

// user is the part of a token id before the exclamation mark.
func (t *Token) user() string {
	u, _, _ := strings.Cut(t.ID, "!")
	return u
}

// privileges are those of the deepest ACL entry at or above the path.
func (t *Token) privileges(path string) []string {
	if t.user() == "root@pam" && len(t.ACL) == 0 {
		return allPrivileges
	}
	depth, out := -1, []string(nil)
	for _, a := range t.ACL {
		if !covers(a.Path, path) {
			continue
		}
		switch n := len(strings.TrimSuffix(a.Path, "/")); {
		case n > depth:
			depth, out = n, slices.Concat(rolePrivileges(a.Role), a.Privileges)
		case n == depth:
			out = slices.Concat(out, rolePrivileges(a.Role), a.Privileges)
		}
	}
	return out
}

func covers(acl, path string) bool {
	acl = strings.TrimSuffix(acl, "/")
	return acl == "" || path == acl || strings.HasPrefix(path, acl+"/")
}

// allows says whether the token holds the privilege on the path. A guest also has what its pool grants. The state is locked.
func (s *Sim) allows(t *Token, path, privilege string) bool {
	if slices.Contains(t.privileges(path), privilege) {
		return true
	}
	if id, ok := strings.CutPrefix(path, "/vms/"); ok {
		if p := s.poolOf(atoi(id)); p != "" {
			return slices.Contains(t.privileges("/pool/"+p), privilege)
		}
	}
	return false
}

// require refuses with 403 unless the token holds every privilege on the path.
func (s *Sim) require(t *Token, path string, privileges ...string) error {
	for _, p := range privileges {
		if !s.allows(t, path, p) {
			return forbidden(path + ", " + p)
		}
	}
	return nil
}

// requireAny refuses unless the token holds one of the privileges.
func (s *Sim) requireAny(t *Token, path string, privileges ...string) error {
	for _, p := range privileges {
		if s.allows(t, path, p) {
			return nil
		}
	}
	return forbidden(path + ", " + strings.Join(privileges, "|"))
}

// authenticate finds the token of an Authorization header.
func (s *Sim) authenticate(header string) (*Token, error) {
	if header == "" {
		return nil, unauthorized("No ticket")
	}
	cred, ok := strings.CutPrefix(header, "PVEAPIToken=")
	id, secret, cut := strings.Cut(cred, "=")
	if ok && cut {
		for i := range s.opts.Tokens {
			if t := &s.opts.Tokens[i]; t.ID == id && t.Secret == secret {
				return t, nil
			}
		}
	}
	return nil, unauthorized("Authentication failed!")
}
