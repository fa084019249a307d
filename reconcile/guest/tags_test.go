package guest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestTags(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"empty":      {"", nil},
		"blank":      {" ", nil},
		"sorted":     {"b;a", []string{"a", "b"}},
		"separators": {"c,b a\td;;e", []string{"a", "b", "c", "d", "e"}},
		"case":       {"UPPER;upper", []string{"upper"}},
		"twice":      {"a;b;a", []string{"a", "b"}},
		"edges":      {";a;", []string{"a"}},
		"words":      {"tag with space", []string{"space", "tag", "with"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Tags(test.text), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("tags of %q (-want +got):\n%s", test.text, diff)
			}
		})
	}
}

func TestMarkers(t *testing.T) {
	text := "gitops-f123abcd;gitops-0123abcd,gitops-0123ABCD gitops-0123abc gitops-0123abcde;gitops;gitops-0123abcg;xgitops-0123abcd;web"
	if diff := cmp.Diff([]string{"gitops-0123abcd", "gitops-f123abcd"}, Markers(text)); diff != "" {
		t.Errorf("markers (-want +got):\n%s", diff)
	}
}

func TestPlainTags(t *testing.T) {
	if diff := cmp.Diff([]string{"gitops-me", "prod", "web"}, PlainTags("web;gitops-0123abcd;Prod;gitops-me")); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}

func TestDiffTags(t *testing.T) {
	const mine, other = "gitops-0123abcd", "gitops-ffffffff"
	tests := map[string]struct {
		live    string
		intents []Intent
		marker  string
		ignore  []string
		want    []string
	}{
		"order_case_separator":    {"prod;web", []Intent{text("tags", "WEB prod,web")}, "", nil, nil},
		"set":                     {"old", []Intent{text("tags", "web,prod")}, "", nil, []string{"tags set prod;web [live]"}},
		"marker_among_them":       {"gitops-0123abcd;prod;web", []Intent{text("tags", "web;prod")}, mine, nil, nil},
		"marker_missing":          {"prod;web", []Intent{text("tags", "web;prod")}, mine, nil, []string{"tags set gitops-0123abcd;prod;web [live]"}},
		"marker_of_another":       {"gitops-ffffffff;web", []Intent{text("tags", "web")}, mine, nil, []string{"tags set gitops-0123abcd;web [live]"}},
		"marker_without_intent":   {"hand;made", nil, mine, nil, []string{"tags set gitops-0123abcd;hand;made [live]"}},
		"other_without_intent":    {"gitops-0123abcd;gitops-ffffffff;hand", nil, mine, nil, []string{"tags set gitops-0123abcd;hand [live]"}},
		"owned_without_intent":    {"gitops-0123abcd;hand", nil, mine, nil, nil},
		"marker_on_nothing":       {"", nil, mine, nil, []string{"tags set gitops-0123abcd [live]"}},
		"marker_despite_ignore":   {"hand", []Intent{text("tags", "web")}, mine, []string{"tags"}, []string{"tags set gitops-0123abcd;hand [live]"}},
		"ignored":                 {"hand", []Intent{text("tags", "web")}, "", []string{"tags"}, nil},
		"unowned_keeps_markers":   {other + ";old", []Intent{text("tags", "web")}, "", nil, []string{"tags set gitops-ffffffff;web [live]"}},
		"unowned_markers_hold":    {other + ";web", []Intent{text("tags", "web")}, "", nil, nil},
		"markers_are_not_wanted":  {mine + ";web", []Intent{text("tags", "web;"+other)}, mine, nil, nil},
		"absent_keeps_the_marker": {mine + ";web", []Intent{absent("tags")}, mine, nil, []string{"tags set gitops-0123abcd [live]"}},
		"absent":                  {"web", []Intent{absent("tags")}, "", nil, []string{"tags delete [live]"}},
		"absent_holds_when_blank": {" ", []Intent{absent("tags")}, "", nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := live(keys{"tags": test.live})
			d := want(o, test.intents...)
			d.Marker, d.Ignore = test.marker, test.ignore
			if diff := cmp.Diff(test.want, briefs(Diff(d, o)), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMarkerChangeIsSortedAmongOthers(t *testing.T) {
	o := live(nil)
	d := want(o, text("cores", "2"), text("vcpus", "1"))
	d.Marker = "gitops-0123abcd"
	d.Origin = Origin{File: "web.yaml"}
	got := Diff(d, o)
	if diff := cmp.Diff([]string{"cores set 2 [live]", "tags set gitops-0123abcd [live]", "vcpus set 1 [live]"}, briefs(got)); diff != "" {
		t.Fatalf("changes (-want +got):\n%s", diff)
	}
	if got[1].Origin != d.Origin {
		t.Errorf("origin of the marker: got %v, want the manifest's", got[1].Origin)
	}
}
