package policy

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

const (
	typeStep   = "Step"
	typeChange = "Change"
)

// Step is a step as expressions see it.
type Step struct {
	Op      string // cluster.Op
	Class   string // guest.Class
	Order   string // "reboot VirtualMachine/web-1", "" for a step that follows from manifests
	Reason  string
	Signers []string // who introduced what the step does, or who signed its order
	Volumes []string // that it destroys
	Changes []Change
}

// Change is one difference that a step removes.
type Change struct {
	Key, From, To, Class string
}

// stepType is what `step` is.
var stepType = &structType{name: typeStep, kind: types.NewObjectType(typeStep), fields: []fieldType{
	textRow("op", "Operation: `create`, `config`, `resize`, `reboot`, `destroy` and so on.", func(s *Step) string { return s.Op }),
	textRow("class", "Change class: `live`, `restart`, `disruptive` or `destructive`.", func(s *Step) string { return s.Class }),
	textRow("order", "The order that asks for the step; empty for a step that follows from manifests.", func(s *Step) string { return s.Order }),
	textsRow("signers", "Names of the signers who introduced what the step does, or of the signer of its order.", func(s *Step) []string { return s.Signers }),
	textsRow("volumes", "Volumes that the step destroys.", func(s *Step) []string { return s.Volumes }),
	row("changes", types.NewListType(types.NewObjectType(typeChange)), "Differences that the step removes.", func(s *Step) ref.Val { return objects(changeType, s.Changes) }),
}}

var changeType = &structType{name: typeChange, kind: types.NewObjectType(typeChange), fields: []fieldType{
	textRow("key", "Native key, or `node`, `pool`, `ha`, `template`.", func(c *Change) string { return c.Key }),
	textRow("from", "Value now; empty if there is none.", func(c *Change) string { return c.From }),
	textRow("to", "Value afterwards; empty if there is none.", func(c *Change) string { return c.To }),
	textRow("class", "Change class of this difference.", func(c *Change) string { return c.Class }),
}}

// structTypes are the types that expressions see.
func structTypes() []*structType {
	return []*structType{guestType, cpuType, diskType, networkType, lifecycleType, stepType, changeType}
}
