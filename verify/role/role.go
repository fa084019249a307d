// Package role says what a signer lacks when an entry of trust.signers does not have a role. Package verify decides about roles, and the packages that
// only print its decisions do not import it: they share this text.
package role

import (
	"slices"
	"strings"
)

// Missing says that a signer lacks a role, with the entry may in trust.signers that would give it. Name is that of the signer, "" if it is not known. Have are
// the roles of the signer; without them the entry is shown in part.
func Missing[R ~string](name string, have []R, need R) string {
	who := "the entry " + name + " of trust.signers"
	if name == "" {
		who = "its signer"
	}
	may := []string{"..."}
	if len(have) > 0 {
		may = nil
	}
	for _, role := range slices.Concat(have, []R{need}) {
		may = append(may, string(role))
	}
	return who + " lacks the role " + string(need) + ", which takes may: [" + strings.Join(may, ", ") + "]"
}
