package guest

// pair is one sub-key of a property string. In wanted properties an empty text wants the sub-key unset.
type pair struct{ name, text string }

// properties are the sub-keys of one property string in the order of the text. Aliases are replaced by the names that they stand for.
type properties []pair

func (p properties) find(name string) int {
	for i := range p {
		if p[i].name == name {
			return i
		}
	}
	return -1
}

// text returns the text of the named sub-key, or the empty string: Proxmox has no empty sub-keys.
func (p properties) text(name string) string {
	if i := p.find(name); i >= 0 {
		return p[i].text
	}
	return ""
}

// size returns the maximum length of the native text of p.
func (p properties) size() int {
	n := 0
	for i := range p {
		n += len(p[i].name) + len("=") + len(p[i].text) + len(",")
	}
	return n
}

// isBlank reports whether text is empty or one space, which is how Proxmox stores an empty value.
func isBlank(text string) bool { return text == "" || text == " " }
