package manifest

import "gitops-agent/reconcile/manifest/tree"

// parsedText is a text with a syntax of its own, which another package reads.
type parsedText struct {
	want     string
	check    func(text string) error // the error states what is wanted
	pattern  string                  // for editors
	examples []string
}

func (p parsedText) parse(n *tree.Node) (string, *rejection) {
	if n.Kind != tree.Scalar {
		return "", wanted(n, p.want)
	}
	if err := p.check(n.Text); err != nil {
		return "", &rejection{message: err.Error()}
	}
	return n.Text, nil
}

func (parsedText) format(s string) string { return s }

func (p parsedText) form() schema {
	return schema{Type: nullable("string"), Pattern: p.pattern, Examples: textExamples(p.examples...)}
}
