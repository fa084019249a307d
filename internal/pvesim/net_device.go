package pvesim

// normalizeNet returns a VM's network device as Proxmox stores it. A value without a MAC address gets a new one on every write. The state is
// locked.
func (s *Sim) normalizeNet(key, text string) (string, error) {
	v, err := qemuNetFormat.parse(key, text)
	if err != nil {
		return "", paramError(key, "invalid format - "+err.Error()+"\n")
	}
	if v["macaddr"] == "" {
		v["macaddr"] = s.newMAC()
	}
	return printNet(v), nil
}

// printNet writes model=MAC first and the other options sorted.
func printNet(v values) string {
	rest := values{}
	for k, x := range v {
		if k != "model" && k != "macaddr" {
			rest[k] = x
		}
	}
	out := v["model"] + "=" + v["macaddr"]
	if len(rest) > 0 {
		out += "," + qemuNetFormat.format(rest)
	}
	return out
}

// normalizeLXCNet adds the MAC address and the type to a container's network device. The state is locked.
func (s *Sim) normalizeLXCNet(key, text string) (string, error) {
	v, err := lxcNetFormat.parse(key, text)
	if err != nil {
		return "", paramError(key, "invalid format - "+err.Error()+"\n")
	}
	if v["hwaddr"] == "" {
		v["hwaddr"] = s.newMAC()
	}
	v["type"] = "veth"
	return lxcNetFormat.format(v), nil
}
