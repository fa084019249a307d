package report

import "gitops-agent/reconcile/guest"

// Change is one difference between a guest and its manifest, or one key of a guest to create.
type Change struct {
	Key     string      `json:"key"`
	From    string      `json:"from"` // "" is unset
	To      string      `json:"to"`   // "" is unset
	Class   guest.Class `json:"class"`
	Note    string      `json:"note,omitempty"`
	Root    bool        `json:"root,omitempty"`    // only root@pam may make it
	Waits   bool        `json:"waits,omitempty"`   // already written; takes effect at the next start
	Drifted bool        `json:"drifted,omitempty"` // the value was as the manifest wants it, and was changed in the cluster; without it, the change is pending
	Origin  string      `json:"origin,omitempty"`  // the manifest line that asks for the value: "web.yaml:12:5"
}

// Concealed replaces the value of a secret, as Proxmox itself does.
const Concealed = "**********"

// NewChange returns a change for printing. The planner already hides secrets; NewChange hides the values of secret keys again.
func NewChange(c guest.Change) Change {
	change := Change{Key: c.Key, From: c.From, To: c.To, Class: c.Class, Note: c.Note, Root: c.RootOnly, Waits: c.Waits, Origin: c.Origin.String()}
	if c.Write == guest.WriteSecret || isSecretKey(c.Key) {
		change.From, change.To = conceal(c.From), conceal(c.To)
	}
	return change
}

// isSecretKey reports whether the value of a key is always a secret.
func isSecretKey(key string) bool { return key == "cipassword" || key == "password" }

func conceal(text string) string {
	if text == "" {
		return ""
	}
	return Concealed
}
