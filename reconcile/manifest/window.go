package manifest

import (
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// window is a weekly time to restart in, see guest.Window.
func window(into *opt[string]) value { return leaf[string]{into, weekly{}} }

type weekly struct{}

func (weekly) parse(n *tree.Node) (string, *complaint) {
	if n.Kind != tree.Scalar {
		return "", wanted(n, "days, hours and a time zone, such as Sat 02:00-04:00 Europe/Berlin")
	}
	if _, err := guest.ParseWindow(n.Text); err != nil {
		return "", &complaint{message: err.Error()}
	}
	return n.Text, nil
}

func (weekly) format(s string) string { return s }

func (weekly) form() schema {
	return schema{Type: nullable("string"), Pattern: guest.WindowPattern, Examples: textExamples("Sat 02:00-04:00 Europe/Berlin", "Mon-Fri,Sun 22:00-02:00 UTC")}
}
