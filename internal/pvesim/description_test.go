package pvesim

import "testing"

func TestDescriptionDiffersByKind(t *testing.T) {
	tests := map[string]struct {
		kind Kind
		set  string
		want string
	}{
		"vm_strips_trailing":   {QEMU, "  a  \n\n", "  a"},
		"vm_keeps_inner":       {QEMU, "a\n\nb", "a\n\nb"},
		"vm_unicode":           {QEMU, "ünï ✓ %41 #", "ünï ✓ %41 #"},
		"vm_crlf":              {QEMU, "a\r\nb", "a\r\nb"},
		"ct_appends_newline":   {LXC, "a", "a\n"},
		"ct_keeps_one_newline": {LXC, "a\n", "a\n"},
		"ct_section_lookalike": {LXC, "[x]\nkey: v", "[x]\nkey: v\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := newGuest(100, tt.kind, "pve1")
			g.edit(func(c *config) { c.Values["description"] = tt.set })
			if got := g.conf.Values["description"]; got != tt.want {
				t.Errorf("read back: got %q, want %q", got, tt.want)
			}
		})
	}
}
