package guest

import "strings"

// HardwareAddresses returns the addresses of the guest's network cards that Proxmox uses now, in lower case.
func HardwareAddresses(o Observed) []string {
	s, name := cardSyntax, "macaddr"
	if o.Kind == Container {
		s, name = vethSyntax, "hwaddr"
	}
	var list []string
	for key, value := range o.Keys {
		if number, isCard := strings.CutPrefix(key, "net"); !isCard || strings.Trim(number, "0123456789") != "" || !value.Set {
			continue
		}
		if address := s.parse(nil, value.Text).text(name); address != "" {
			list = append(list, strings.ToLower(address))
		}
	}
	return list
}
