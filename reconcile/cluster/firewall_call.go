package cluster

// FirewallCall names what a call changes in a guest's firewall. The values are in the parameters of the call.
type FirewallCall struct {
	Verb   FirewallVerb   `json:"verb"`
	Object FirewallObject `json:"object"`
	Pos    int            `json:"pos,omitempty"`  // of a rule
	To     int            `json:"to,omitempty"`   // of a move: the rule is put in front of the rule at this position, or at the end
	Name   string         `json:"name,omitempty"` // of an alias or a set
	CIDR   string         `json:"cidr,omitempty"` // of an entry of a set
}

// FirewallVerb is what a call does with an object of a firewall.
type FirewallVerb string

// The verbs. A new rule is always the first one, and Proxmox does not compare the digest of such a call: the agent adds a rule without effect, and
// sets it in effect at its place.
const (
	FirewallAdd    FirewallVerb = "add"
	FirewallSet    FirewallVerb = "set"
	FirewallMove   FirewallVerb = "move"
	FirewallDelete FirewallVerb = "delete"
)

// FirewallObject is a kind of object of a firewall.
type FirewallObject string

// The kinds of objects.
const (
	FirewallOptions FirewallObject = "options"
	FirewallRule    FirewallObject = "rule"
	FirewallAlias   FirewallObject = "alias"
	FirewallIPSet   FirewallObject = "ipset"
	FirewallEntry   FirewallObject = "entry" // of an IP set
)
