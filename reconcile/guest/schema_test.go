package guest

import (
	"slices"
	"strconv"
	"testing"

	"gitops-agent/internal/recordings"
	"gitops-agent/reconcile/guest/form"
)

// judgedOtherwise are the figures in which the table departs from the schema, and why.
var judgedOtherwise = map[string]string{
	"VirtualMachine cpuunits default": "the schema says it in words: 100 under cgroup v2, which 9.x runs",
	"Container cpuunits default":      "the schema says it in words: 100 under cgroup v2, which 9.x runs",
	"Container swap default":          "that of a create call; a container whose config has no swap has none",
	"Container arch default":          "that of a create call, which stores it",
	"VirtualMachine vcpus default":    "0 stands for all that there are, and cannot be written",
	"VirtualMachine vmgenid default":  "a create call makes one and stores it",
	"VirtualMachine lock enum":        "it cannot be written",
	"Container lock enum":             "it cannot be written",
}

// TestSchemaIsKnown holds the table against the schema that Proxmox's running code reports: every key and every sub-key is
// in the table, none left out, and defaults, enumerations and bounds are the schema's.
func TestSchemaIsKnown(t *testing.T) {
	keys, subs, unknown := 0, 0, 0
	for _, kind := range []Kind{VirtualMachine, Container} {
		for key, p := range recordings.Schema(t, kind.API()) {
			keys++
			r, known := find(kind, key)
			switch {
			case !known:
				unknown += missing(t, kind, key)
				continue
			case r.instead != "":
				continue // Proxmox stores it as another key, which has a row
			}
			checkFigures(t, kind, key, &r.scalar, r.absentValue, r.syntax == nil, p)
			for sub, sp := range p.Parts {
				subs++
				unknown += checkSub(t, kind, key, r, sub, sp)
			}
		}
	}
	t.Logf("schema: %d keys and %d sub-keys, %d of them not in the table", keys, subs, unknown)
	if keys < 1300 || subs < 9000 {
		t.Errorf("schema: got %d keys and %d sub-keys, want 1300 and 9000 at least", keys, subs)
	}
}

// missing reports a key or sub-key that is not known, and counts it.
func missing(t *testing.T, kind Kind, name string) int {
	t.Helper()
	t.Errorf("%s %s: got none in the table, want one", kind, name)
	return 1
}

func checkSub(t *testing.T, kind Kind, key string, r *row, sub string, p recordings.Property) int {
	t.Helper()
	switch {
	case r.syntax == nil && (p.DefaultKey == 1 || p.Alias != ""):
		return 0 // the row reads the one sub-key that there is without its name
	case r.syntax == nil:
		return missing(t, kind, key+"."+sub)
	case p.KeyAlias != "":
		if !isCardModel(sub) {
			t.Errorf("%s %s: got no card model %s, want one", kind, key, sub)
		}
		return 0
	case isByteRate(sub):
		return 0 // read as a rate in MiB
	}
	known := r.syntax.sub(r.syntax.resolve(sub))
	if known == &anySub {
		return missing(t, kind, key+"."+sub)
	}
	if p.Alias == "" {
		checkFigures(t, kind, key+"."+sub, &known.scalar, known.absentValue, true, p)
		if p.Type != "" && known.required != (p.Optional == 0) && known.name != "volume" {
			t.Errorf("%s %s.%s: got required %t, want %t", kind, key, sub, known.required, p.Optional == 0)
		}
	}
	return 0
}

// checkFigures compares a default, an enumeration and bounds with the schema's.
func checkFigures(t *testing.T, kind Kind, name string, s *scalar, absent string, plain bool, p recordings.Property) {
	t.Helper()
	differs := func(what string, got, want any) {
		if judgedOtherwise[string(kind)+" "+name+" "+what] != "" {
			return
		}
		t.Errorf("%s %s: got %s %v, want %v", kind, name, what, got, want)
	}
	if want := plainDefault(p.Default); want != "" && !s.Same(absent, want) && absent != want {
		differs("default", absent, want)
	}
	if !plain {
		return
	}
	if want, got := slices.Sorted(slices.Values(p.Enum)), slices.Sorted(slices.Values(s.Words)); len(want) > 0 && !slices.Equal(got, want) {
		differs("enum", got, want)
	}
	if p.Minimum != nil && s.Min != *p.Minimum {
		differs("minimum", s.Min, *p.Minimum)
	}
	if p.Maximum != nil && s.Max != *p.Maximum {
		differs("maximum", s.Max, *p.Maximum)
	}
	if isWhole := s.Form == form.Int || s.Form == form.Weight; p.Type == "integer" && !isWhole || p.Type == "number" && s.Form != form.Number {
		differs("type", s.Form, p.Type)
	}
	if wantBool := p.Type == "boolean"; wantBool != (s.Form == form.Bool) {
		differs("boolean", s.Form == form.Bool, wantBool)
	}
}

func plainDefault(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	default:
		return ""
	}
}
