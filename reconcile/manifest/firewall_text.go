package manifest

import (
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/manifest/tree"
)

// Rules for texts of firewalls.
var (
	firewallName    = ruleOf(kind.FirewallName)
	groupName       = ruleOf(kind.GroupName)
	macroName       = ruleOf(kind.MacroName)
	protocolName    = ruleOf(kind.ProtocolName)
	icmpType        = ruleOf(kind.ICMPType)
	firewallLink    = &textRule{want: "a slot of a network card", examples: []string{"net0"}, shape: exactly(`net[0-9]{1,2}`)}
	firewallAddress = ruleOf(kind.FirewallAddress)
	networkAddress  = ruleOf(kind.NetworkAddress)
	setEntry        = ruleOf(kind.SetEntry)
	portList        = ruleOf(kind.PortList)
	firewallComment = ruleOf(kind.FirewallComment)
)

// ports is a list of ports as one text. A single number needs no quotes.
func ports(into *opt[string]) value { return scalarValue[string]{into, portCodec{portList}} }

type portCodec struct{ *textRule }

func (c portCodec) parse(n *tree.Node) (string, *rejection) {
	if n.Kind == tree.Scalar && n.Tag == "!!int" && guest.IsPort(n.Text) {
		return n.Text, nil
	}
	return c.textRule.parse(n)
}

func (c portCodec) form() schema {
	return schema{Type: nullable("string", "integer"), Examples: textExamples(c.examples...)}
}
