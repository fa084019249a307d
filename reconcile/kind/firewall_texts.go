package kind

import "gitops-agent/reconcile/guest"

// Texts of firewalls, of guests and of the cluster.
var (
	FirewallName    = Text{Want: "a name of 2 to 64 lower-case letters, digits, - and _ that starts with a letter", Examples: []string{"office"}, Pattern: `[a-z][a-z0-9_-]{1,63}`}
	GroupName       = Text{Want: "the name of a security group", Examples: []string{"web"}, Pattern: `[a-z][a-z0-9_-]{1,17}`}
	MacroName       = Text{Want: "the name of a macro of Proxmox", Examples: []string{"SSH"}, Pattern: `[A-Za-z][A-Za-z0-9]+`}
	ProtocolName    = Text{Want: "the name or the number of a protocol", Examples: []string{"tcp"}, Pattern: `[a-z][a-z0-9-]*|[1-9][0-9]{0,2}`}
	ICMPType        = Text{Want: "the name of a type of ICMP messages", Examples: []string{"echo-request"}, Pattern: `[A-Za-z][A-Za-z-]+`}
	NetworkAddress  = Text{Want: "an address or a network", Examples: []string{"10.0.0.0/24"}, Accept: guest.IsNetwork, Hint: addressHint}
	SetEntry        = Text{Want: "an address, a network, or an alias of the cluster", Examples: []string{"10.0.0.0/24", "dc/office"}, Accept: guest.IsSetEntry, Hint: addressHint}
	PortList        = Text{Want: "at most 15 ports and ranges, without blanks", Examples: []string{"22", "80,443,8000:8080"}, Accept: guest.IsPortList, Number: true}
	FirewallAddress = Text{
		Want: "addresses of one family, a range, an alias, or + and the name of a set", Examples: []string{"10.0.0.0/24", "+admins"}, Accept: guest.IsFirewallAddress,
		Hint: addressHint, Max: 512,
	}
	FirewallComment = Text{Want: "a text on one line, without blanks at its ends", Accept: guest.IsFirewallComment, Hint: func(string) string {
		return "Proxmox would read a further line as a rule of its own"
	}}
	FirewallLogLevel = Choice{Words: []string{"nolog", "emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"}}
)

// addressHint proposes the form in which Proxmox stores an address.
func addressHint(text string) string {
	if stored := guest.StoredNetwork(text); stored != "" && stored != text {
		return "did you mean " + stored + "?"
	}
	return ""
}
