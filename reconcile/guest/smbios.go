package guest

import (
	"encoding/base64"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest/form"
)

// decoded returns the sub-keys of an SMBIOS table without base64. The sub-key base64=1 only states how the other values are encoded. It changes p in
// place. If a value is not base64, everything is returned unchanged.
//
// Source: PVE API, key smbios1.
func decoded(p properties) properties {
	i := p.find("base64")
	if i < 0 || form.Truth(p[i].text) != "1" {
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

// encoded returns the sub-keys of an SMBIOS table in the form that Proxmox accepts: in base64 if one of them has characters that Proxmox
// refuses otherwise.
func encoded(p properties) properties {
	plain := func(s pair) bool { return !isEncoded(s.name) || isBase64Like(s.text) }
	if p.find("base64") >= 0 && form.Truth(p.text("base64")) == "1" || !slices.ContainsFunc(p, func(s pair) bool { return !plain(s) }) {
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

// isBase64Like reports whether Proxmox accepts a text without base64: it then allows only the characters of base64.
func isBase64Like(text string) bool {
	return strings.Trim(strings.TrimRight(text, "="), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/") == ""
}
