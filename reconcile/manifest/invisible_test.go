package manifest_test

import (
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/manifest/tree"
)

// invisible are the characters that manifests have in escapes alone.
var invisible = map[string]string{"carriage_return": "\r", "next_line": "\u0085", "line_separator": "\u2028", "paragraph_separator": "\u2029", "byte_order_mark": "\ufeff"}

// TestAdoptEscapesInvisibleCharacters adopts guests and objects whose texts have such characters: people wrote them in Proxmox. The manifests have none, and change
// nothing.
func TestAdoptEscapesInvisibleCharacters(t *testing.T) {
	t.Parallel()
	for name, character := range invisible {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var guests []guest.Observed
			for n := range 4 {
				o := webServer(n+1, map[string]string{"description": "one" + character + "memory: 1\n" + character + "two " + character, "args": "-name a" + character + "b"})
				o.Keys["tags"] = guest.Value{Text: "prod;web", Set: true}
				guests = append(guests, o)
			}
			adopted := adoptAll(t, guests)
			for i, a := range adopted {
				if problems := tree.Invisible("web.yaml", a.Data); len(problems) > 0 {
					t.Fatalf("got %+v in %s, want escapes alone", problems, a.Data)
				}
				set, err := manifest.Parse([]manifest.File{{Path: "cluster.yaml", Data: []byte(clusterManifest)}, {Path: "web.yaml", Data: a.Data}})
				if err != nil {
					t.Fatalf("got %v from %s, want it read back", err, a.Data)
				}
				desired, err := set.Lower(nil)
				if err != nil || len(guest.Diff(desired[0], guests[i])) > 0 {
					t.Errorf("got %v and changes of a guest that was adopted, want none", err)
				}
			}
			sets, _ := manifest.AdoptSets(adopted, "home"+character, noneTaken)
			if len(sets) != 1 || len(tree.Invisible("set.yaml", sets[0].Data)) > 0 {
				t.Fatalf("got sets %+v, want one with escapes alone", sets)
			}
			checkSets(t, guests, sets)
			pool, _ := kinds.Of("Pool")
			comment := "films" + character + "and music"
			object, err := manifest.AdoptObject(pool, cluster.Object{ID: "media", Keys: map[string]string{"comment": comment}}, "home"+character, "media")
			switch {
			case character == "\r", character == "\u0085": // no manifest accepts such a comment
			case err != nil || len(tree.Invisible("pool.yaml", object.Data)) > 0:
				t.Errorf("got %s and %v, want a manifest with escapes alone", object.Data, err)
			default:
				set, err := manifest.Parse([]manifest.File{{Path: "cluster.yaml", Data: []byte(clusterManifest)}, {Path: "pool.yaml", Data: object.Data}})
				if err != nil || set.Objects[0].Keys[0].Text != comment {
					t.Errorf("got %v and %+v, want the comment back", err, set.Objects)
				}
			}
		})
	}
}

// TestRenderEscapesInvisibleCharacters renders a guest whose manifest, as an earlier release accepted it, has such characters in escapes, and in the name of its file.
func TestRenderEscapesInvisibleCharacters(t *testing.T) {
	t.Parallel()
	for name, character := range invisible {
		if character == "\u0085" {
			continue // a control character, which no text of a manifest has
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			escape := map[string]string{"\r": `\r`, "\u2028": `\L`, "\u2029": `\P`, "\ufeff": `\uFEFF`}[character]
			text := "apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: web-1, labels: {tier: \"a " + escape + "b\"}}\n" +
				"spec: {vmid: 201, node: pve1, source: {blank: {}}, description: \"one" + escape + "two\\nthree\"}\n"
			files := []manifest.File{{Path: "cluster.yaml", Data: []byte(clusterManifest)}, {Path: "web" + character + "memory: 1.yaml", Data: []byte(text)}}
			set, err := manifest.ParseAccepted(files)
			if err != nil {
				t.Fatal(err)
			}
			rendered, err := set.Guests[0].Render()
			if err != nil || len(tree.Invisible("x", rendered)) > 0 {
				t.Fatalf("got %s and %v, want escapes alone", rendered, err)
			}
			files[1].Data = rendered
			again, err := manifest.ParseAccepted(files)
			if err != nil || again.Guests[0].Labels["tier"] != "a "+character+"b" {
				t.Fatalf("got %v and %+v from %s, want the label back", err, again.Guests, rendered)
			}
			before, _ := set.Lower(nil)
			after, err := again.Lower(nil)
			if err != nil || strings.Join(guest.ChangedFields(before[0], after[0]), " ") != "" {
				t.Errorf("got %v and changes %v, want the same guest", err, guest.ChangedFields(before[0], after[0]))
			}
		})
	}
}
