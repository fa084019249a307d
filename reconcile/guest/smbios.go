package guest

import (
	"encoding/base64"
	"slices"
	"strings"
)

// decoded returns the sub-keys of an SMBIOS table in clear: base64=1 is how they are written and no value of its own. It
// changes p in place. A value that is no base64 leaves everything as it is.
//
// Source: PVE API, key smbios1.
func decoded(p properties) properties {
	i := p.find("base64")
	if i < 0 || truth(p[i].text) != "1" {
		return p
	}
	clear := slices.Clone(p)
	for j := range clear {
		if !isEncoded(clear[j].name) {
			continue
		}
		text, err := base64.StdEncoding.DecodeString(clear[j].text)
		if err != nil || clear[j].text != "" && len(text) == 0 {
			return p
		}
		clear[j].text = string(text)
	}
	return append(p[:0], slices.Delete(clear, i, i+1)...)
}

// encoded returns the sub-keys of an SMBIOS table as Proxmox takes them: in base64 if one of them has characters that it
// refuses in clear.
func encoded(p properties) properties {
	plain := func(s pair) bool { return !isEncoded(s.name) || isBase64Like(s.text) }
	if p.find("base64") >= 0 && truth(p.text("base64")) == "1" || !slices.ContainsFunc(p, func(s pair) bool { return !plain(s) }) {
		return p
	}
	out := slices.DeleteFunc(slices.Clone(p), func(s pair) bool { return s.name == "base64" })
	for j := range out {
		if isEncoded(out[j].name) {
			out[j].text = base64.StdEncoding.EncodeToString([]byte(out[j].text))
		}
	}
	return append(out, pair{"base64", "1"})
}

func isEncoded(name string) bool { return name != "uuid" && name != "base64" }

// isBase64Like reports whether Proxmox takes a text in clear: it allows there the letters of base64 alone.
func isBase64Like(text string) bool {
	return strings.Trim(strings.TrimRight(text, "="), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/") == ""
}
