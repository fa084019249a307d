package pvesim

import (
	"strings"
)

// bootOrder returns the boot devices: those of the order form, else the legacy bootdisk, else the default devices. It returns nil if
// the boot key is blank.
func bootOrder(v values) []string {
	order, ok := strings.CutPrefix(v["boot"], "order=")
	if ok {
		return strings.Split(order, ";")
	}
	if b := strings.TrimSpace(v["boot"]); b == "" && v["boot"] != "" {
		return nil
	}
	if d := v["bootdisk"]; d != "" {
		return []string{d}
	}
	return defaultBootDevices(v)
}

func printBootOrder(devices []string) string {
	if len(devices) == 0 {
		return ""
	}
	return "order=" + strings.Join(devices, ";")
}

// defaultBootDevices returns the first disk, the CD-ROMs and the first network device.
func defaultBootDevices(v values) []string {
	var disk string
	var cds []string
	for _, stem := range []string{"ide", "scsi", "virtio", "sata"} {
		for i := range qemuFormats[stem].count {
			slot := stem + itoa(i)
			if v[slot] == "" {
				continue
			}
			d, err := parseDrive(slot, v[slot])
			switch {
			case err != nil || d.isCloudInit():
			case d.isCDROM():
				cds = append(cds, slot)
			case disk == "":
				disk = slot
			}
		}
	}
	var out []string
	if disk != "" {
		out = append(out, disk)
	}
	out = append(out, cds...)
	for i := range 32 {
		if n := "net" + itoa(i); v[n] != "" {
			return append(out, n)
		}
	}
	return out
}

// bootOrderExplicit returns the boot order that the config states. A pending boot order comes before the current one. It returns nil
// without a boot order and for the legacy form.
func bootOrderExplicit(conf *config) []string {
	b, ok := conf.Pending["boot"]
	if !ok {
		b = conf.Values["boot"]
	}
	order, ok := strings.CutPrefix(b, "order=")
	if !ok {
		return nil
	}
	return strings.Split(order, ";")
}
