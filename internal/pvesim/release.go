package pvesim

import "strings"

// What differs between releases 9 and 8 follows Proxmox's sources; the recordings are of release 9. It is decided by the functions here,
// and by s.major() in the few places that print other fields.

// major is the release that the cluster runs, 9 or 8.
func (s *Sim) major() int { return s.release }

func majorOf(version string) int {
	n, _, _ := strings.Cut(version, ".")
	return atoi(n)
}

// privilegeName is the name that the release has for a privilege, or nothing.
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

// release9Keys are config keys that release 8 does not know.
var release9Keys = map[Kind]map[string]bool{
	QEMU: {"intel-tdx": true},
	LXC:  {"entrypoint": true, "env": true},
}

// refuseRelease9Keys answers keys of release 9 as unknown where the cluster runs release 8.
func (c *call) refuseRelease9Keys() error {
	if c.sim.major() >= 9 || c.route.verify == nil {
		return nil
	}
	bad := map[string]string{}
	for k := range c.params {
		if release9Keys[c.kindOfPath()][k] {
			bad[k] = unknownProperty
		}
	}
	if len(bad) > 0 {
		return paramErrors(bad)
	}
	return nil
}
