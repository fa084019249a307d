package verify

import (
	"fmt"
	"slices"
	"strings"
)

// MissingRole says that a signer lacks a role, with the entry may in trust.signers that would give it. Name is that of the signer, "" if it is not
// known. Have are the roles of the signer; without them the entry is shown in part.
func MissingRole(name string, have []Role, need Role) string {
	who := "the entry " + name + " of trust.signers"
	if name == "" {
		who = "its signer"
	}
	may := "..., " + string(need)
	if len(have) > 0 {
		var list []string
		for _, role := range slices.Concat(have, []Role{need}) {
			list = append(list, string(role))
		}
		may = strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s lacks the role %s, which takes may: [%s]", who, need, may)
}
