package pvesim

import "strings"

// The differences between releases 9 and 8 follow Proxmox's sources; the recordings are of release 9. They are in the functions of this
// file, and in the few places that print other fields and call s.major().

// privilegeName returns the name of a privilege in the cluster's release, or "" if the release does not have it.
func (s *Sim) privilegeName(name string) string {
	if s.major() >= 9 {
		return name
	}
	if strings.HasPrefix(name, "VM.GuestAgent.") {
		return "VM.Monitor"
	}
	if name == "VM.Replicate" {
		return ""
	}
	return name
}

// release9Keys are config keys that release 8 does not have.
var release9Keys = map[Kind]map[string]bool{
	QEMU: {"intel-tdx": true},
	LXC:  {"entrypoint": true, "env": true},
}

// release9HAParams are parameters of calls about resources of the HA manager that release 8 does not have.
var release9HAParams = map[string]bool{"failback": true, "purge": true}

// refuseRelease9Keys rejects keys of release 9 as unknown if the cluster runs release 8.
func (c *call) refuseRelease9Keys() error {
	keys := release9Keys[c.kindOfPath()]
	isHA := strings.HasPrefix(c.route.path, "/cluster/ha/resources")
	switch {
	case c.sim.major() >= 9, c.route.verify == nil && !isHA:
		return nil
	case isHA:
		keys = release9HAParams
	}
	bad := map[string]string{}
	for k := range c.params {
		if keys[k] {
			bad[k] = unknownProperty
		}
	}
	if len(bad) > 0 {
		return paramErrors(bad)
	}
	return nil
}
