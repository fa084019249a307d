package manifest

import (
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// window is a weekly period for restarts, see guest.Window.
func window(into *opt[string]) value { return scalarValue[string]{into, windowCodec{}} }

type windowCodec struct{}

func (windowCodec) parse(n *tree.Node) (string, *rejection) {
	if n.Kind != tree.Scalar {
		return "", wanted(n, "days, hours and a time zone, such as Sat 02:00-04:00 Europe/Berlin")
	}
	if _, err := guest.ParseWindow(n.Text); err != nil {
		return "", &rejection{message: err.Error()}
	}
	return n.Text, nil
}

func (windowCodec) format(s string) string { return s }

func (windowCodec) form() schema {
	return schema{Type: nullable("string"), Pattern: guest.WindowPattern, Examples: textExamples("Sat 02:00-04:00 Europe/Berlin", "Mon-Fri,Sun 22:00-02:00 UTC")}
}
