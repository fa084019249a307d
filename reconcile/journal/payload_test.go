package journal

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/object"
)

func encodeAll(t testing.TB, bodies []Body) []byte {
	t.Helper()
	elements, err := encodeBodies(bodies)
	if err != nil {
		t.Fatal(err)
	}
	return payloadOf(elements)
}

// Every field of every kind is decoded as it was encoded. The test fails if oneOfEach lacks a kind.
func TestBodiesRoundTrip(t *testing.T) {
	want := oneOfEach()
	sample := map[string]Body{}
	for _, b := range want {
		sample[kindOf(b).name] = b
	}
	for _, k := range kinds {
		if sample[k.name] == nil {
			t.Errorf("got no body of kind %s in the sample", k.name)
		}
	}
	got, err := decodePayload(encodeAll(t, want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bodies (-want +got):\n%s", diff)
	}
}

func TestDecodePayloadRefuses(t *testing.T) {
	tests := map[string]string{
		"no_json":                    `{"v":1,"records":[`,
		"other_json":                 `[]`,
		"no_version":                 `{"records":[{"event":{"name":"x"}}]}`,
		"unknown_field":              `{"v":1,"records":[{"event":{"name":"x","colour":"red"}}]}`,
		"unknown_kind":               `{"v":1,"records":[{"moved":{"vmid":1}}]}`,
		"version_1_with_applied":     `{"v":1,"records":[{"applied":{"vmid":1,"identity":"i"}}]}`,
		"version_2_with_futile":      `{"v":2,"records":[{"futile":{"vmid":1,"revision":"r","stepDigest":"d"}}]}`,
		"version_4_with_attached":    `{"v":4,"records":[{"attached":{"vmid":1,"identity":"i"}}]}`,
		"version_2_without_applied":  `{"v":2,"records":[{"event":{"name":"x"}}]}`,
		"no_body":                    `{"v":1,"records":[{}]}`,
		"two_bodies":                 `{"v":1,"records":[{"event":{"name":"x"},"disowned":{"vmid":1}}]}`,
		"firewall_as_unknown":        `{"v":16,"records":[{"guarded":{"vmid":1,"firewallAs":2}}]}`,
		"firewall_as_later":          `{"v":16,"records":[{"guarded":{"vmid":1,"firewallAs":2}},{"guarded":{"vmid":2,"rules":{"firewall":"f"}}}]}`,
		"firewall_as_without":        `{"v":16,"records":[{"guarded":{"vmid":2}},{"guarded":{"vmid":1,"firewallAs":2}}]}`,
		"firewall_as_beside":         `{"v":16,"records":[{"guarded":{"vmid":2,"rules":{"firewall":"f"}}},{"guarded":{"vmid":1,"rules":{"firewall":"f"},"firewallAs":2}}]}`,
		"version_13_with_shared":     `{"v":13,"records":[{"guarded":{"vmid":2,"rules":{"firewall":"f"}}},{"guarded":{"vmid":1,"firewallAs":2}}]}`,
		"version_28_with_refused":    `{"v":28,"records":[{"dispatched":{"step":"s","refused":true}}]}`,
		"version_23_with_unstarted":  `{"v":23,"records":[{"owned":{"vmid":1,"identity":"i","origin":"created","unstarted":true}}]}`,
		"version_5_with_configuring": `{"v":5,"records":[{"owned":{"vmid":1,"identity":"i","origin":"created","configuring":true}}]}`,
		"version_5_with_object":      `{"v":5,"records":[{"flapping":{"kind":"BackupJob","name":"nightly","level":5}}]}`,
		"bytes_after_it":             `{"v":1,"records":[{"event":{"name":"x"}}]} {}`,
	}
	for name, payload := range tests {
		t.Run(name, func(t *testing.T) {
			bodies, err := decodePayload([]byte(payload))
			if err == nil || errors.Is(err, ErrNewerFormat) {
				t.Errorf("got %+v, %v, want an error that is not about a newer format", bodies, err)
			}
		})
	}
}

// A payload without the records of later releases has the version that an older release reads.
func TestPayloadHasTheLowestVersion(t *testing.T) {
	event, applied, futile := Event{Name: "x"}, Applied{VMID: 1, Identity: "i"}, IneffectiveRestart{VMID: 1, Revision: "r", StepDigest: "d"}
	attached := Attached{VMID: 1, Identity: "i", Volumes: map[string]string{"scsi1": ""}}
	accepted, evidence := Accepted{Commit: "c"}, Evidence{Commit: "c", Bundle: "{}"}
	tests := map[string]struct {
		bodies []Body
		want   string
	}{
		"evidence": {
			[]Body{accepted, evidence}, `{"v":6,"records":[{"accepted":{"commit":"c"}},{"evidence":{"commit":"c","bundle":"{}"}}]}`,
		},
		"begun_of_a_guest": {
			[]Body{Begun{Step: "s", VMID: 201, Kind: "VirtualMachine", Name: "web-1", Op: "start"}},
			`{"v":1,"records":[{"begun":{"step":"s","vmid":201,"kind":"VirtualMachine","name":"web-1","op":"start"}}]}`,
		},
		"begun_of_another_object": {
			[]Body{Begun{Step: "s", Kind: "Image", Name: "debian-13", Op: "download", TaskTypes: []string{"download"}, TaskID: "debian.qcow2"}},
			`{"v":7,"records":[{"begun":{"step":"s","kind":"Image","name":"debian-13","op":"download","taskTypes":["download"],"taskId":"debian.qcow2"}}]}`,
		},
		"downloaded": {
			[]Body{Downloaded{Name: "a", Node: "pve1", Volume: "local:iso/a.iso"}}, `{"v":7,"records":[{"downloaded":{"name":"a","node":"pve1","volume":"local:iso/a.iso","size":0}}]}`,
		},
		"downloaded_to_prune": {
			[]Body{Downloaded{Name: "a", Node: "pve1", Volume: "local:iso/a.iso", Prune: true}},
			`{"v":15,"records":[{"downloaded":{"name":"a","node":"pve1","volume":"local:iso/a.iso","size":0,"prune":true}}]}`,
		},
		"downloaded_gone": {
			[]Body{Downloaded{Name: "a", Node: "pve1", Volume: "local:iso/a.iso", Gone: true}},
			`{"v":15,"records":[{"downloaded":{"name":"a","node":"pve1","volume":"local:iso/a.iso","size":0,"gone":true}}]}`,
		},
		"approval_of_a_begun_change": {
			[]Body{Ordered{Key: "k", State: OrderSeen, Change: ListChange{Kind: "IPSet", ID: "a", Final: "f"}}},
			`{"v":15,"records":[{"ordered":{"key":"k","state":"seen","change":{"kind":"IPSet","id":"a","final":"f"}}}]}`,
		},
		"owned_object": {
			[]Body{OwnedObject{Kind: "Alias", ID: "a", Name: "a", Identity: "i", Marker: "m", Origin: Created}},
			`{"v":9,"records":[{"owned-object":{"kind":"Alias","id":"a","name":"a","identity":"i","marker":"m","origin":"created"}}]}`,
		},
		"owned_object_that_agreed": {
			[]Body{OwnedObject{Kind: "Alias", ID: "a", Name: "a", Identity: "i", Marker: "m", Origin: Created, Agreed: map[string]AgreedText{"cidr": {Text: "10.0.0.1"}}}},
			`{"v":17,"records":[{"owned-object":{"kind":"Alias","id":"a","name":"a","identity":"i","marker":"m","origin":"created","agreed":{"cidr":{"text":"10.0.0.1"}}}}]}`,
		},
		"guest_that_is_configured": {
			[]Body{Owned{VMID: 1, Identity: "i", Origin: Created}}, `{"v":1,"records":[{"owned":{"vmid":1,"identity":"i","origin":"created"}}]}`,
		},
		"guest_that_is_not_configured_yet": {
			[]Body{Owned{VMID: 1, Identity: "i", Origin: Created, Configuring: true}},
			`{"v":23,"records":[{"owned":{"vmid":1,"identity":"i","origin":"created","configuring":true}}]}`,
		},
		"guest_with_what_it_was_created_with": {
			[]Body{Owned{VMID: 1, Identity: "i", Origin: Created, CreatedWith: "source=0a"}},
			`{"v":26,"records":[{"owned":{"vmid":1,"identity":"i","origin":"created","createdWith":"source=0a"}}]}`,
		},
		"guest_that_was_not_started_yet": {
			[]Body{Owned{VMID: 1, Identity: "i", Origin: Created, Unstarted: true}},
			`{"v":28,"records":[{"owned":{"vmid":1,"identity":"i","origin":"created","unstarted":true}}]}`,
		},
		"refused_call":  {[]Body{Dispatched{Step: "s", Refused: true}}, `{"v":29,"records":[{"dispatched":{"step":"s","refused":true}}]}`},
		"accepted_call": {[]Body{Dispatched{Step: "s", UPID: "UPID:pve1:1"}}, `{"v":1,"records":[{"dispatched":{"step":"s","upid":"UPID:pve1:1"}}]}`},
		"orders_with_a_scope": {
			[]Body{Ordered{Key: "k", State: OrderSeen, Entry: "e"}, Ordered{Key: "l", State: OrderSeen, Entry: "e", Guests: []string{"VirtualMachine/web-*"}, Paths: []string{"web"}}},
			`{"v":24,"records":[{"ordered":{"key":"k","state":"seen","entry":"e"}},{"ordered":{"key":"l","state":"seen","entry":"e","guests":["VirtualMachine/web-*"],"paths":["web"]}}]}`,
		},
		"order_without_a_scope": {
			[]Body{Ordered{Key: "k", State: OrderSeen, Entry: "e"}}, `{"v":5,"records":[{"ordered":{"key":"k","state":"seen","entry":"e"}}]}`,
		},
		"guards_of_manifests_with_one_firewall": {
			[]Body{Guarded{VMID: 1, File: "a.yaml", Rules: GuardRules{Firewall: "f"}}, Guarded{VMID: 2, File: "b.yaml", Rules: GuardRules{Firewall: "f"}}},
			`{"v":24,"records":[{"guarded":{"vmid":1,"file":"a.yaml","rules":{"firewall":"f"}}},{"guarded":{"vmid":2,"file":"b.yaml","firewallAs":1}}]}`,
		},
		"values_in_effect": {
			[]Body{Applied{VMID: 1, Identity: "i", Waiting: map[string]string{"name": "b"}}}, `{"v":25,"records":[{"applied":{"vmid":1,"identity":"i","waiting":{"name":"b"}}}]}`,
		},
		"guards_of_a_manifest": {[]Body{Guarded{VMID: 1, File: "a.yaml"}}, `{"v":24,"records":[{"guarded":{"vmid":1,"file":"a.yaml"}}]}`},
		"download_of_a_manifest": {
			[]Body{Downloaded{Name: "a", Node: "pve1", Volume: "local:iso/a.iso", File: "a.yaml"}},
			`{"v":24,"records":[{"downloaded":{"name":"a","node":"pve1","volume":"local:iso/a.iso","size":0,"file":"a.yaml"}}]}`,
		},
		"owned_object_of_a_manifest": {
			[]Body{OwnedObject{Kind: "Alias", ID: "a", Name: "a", Identity: "i", Marker: "m", Origin: Created, File: "a.yaml"}},
			`{"v":24,"records":[{"owned-object":{"kind":"Alias","id":"a","name":"a","identity":"i","marker":"m","origin":"created","file":"a.yaml"}}]}`,
		},
		"firewall": {
			[]Body{guardedBy(1, "f"), guardedBy(2, "g")}, `{"v":13,"records":[{"guarded":{"vmid":1,"rules":{"firewall":"f"}}},{"guarded":{"vmid":2,"rules":{"firewall":"g"}}}]}`,
		},
		"shared_firewalls": {
			[]Body{guardedBy(1, "f"), guardedBy(2, "g"), guardedBy(3, "f"), guardedBy(4, "g"), guardedBy(5, "")},
			`{"v":16,"records":[{"guarded":{"vmid":1,"rules":{"firewall":"f"}}},{"guarded":{"vmid":2,"rules":{"firewall":"g"}}},` +
				`{"guarded":{"vmid":3,"firewallAs":1}},{"guarded":{"vmid":4,"firewallAs":2}},{"guarded":{"vmid":5}}]}`,
		},
		"firewall_of_a_later_record_of_the_same_guest": {
			[]Body{guardedBy(1, "f"), guardedBy(1, "g"), guardedBy(2, "f"), guardedBy(3, "f"), guardedBy(1, "f")},
			`{"v":16,"records":[{"guarded":{"vmid":1,"rules":{"firewall":"f"}}},{"guarded":{"vmid":1,"rules":{"firewall":"g"}}},` +
				`{"guarded":{"vmid":2,"rules":{"firewall":"f"}}},{"guarded":{"vmid":3,"firewallAs":2}},{"guarded":{"vmid":1,"firewallAs":2}}]}`,
		},
		"flapping_guest": {[]Body{NewFlapping(object.Guest(101), 5)}, `{"v":5,"records":[{"flapping":{"vmid":101,"level":5}}]}`},
		"seen":           {[]Body{NewSeen(object.Guest(101), "i", map[string]string{"memory": "f"})}, `{"v":27,"records":[{"seen":{"vmid":101,"identity":"i","keys":{"memory":"f"}}}]}`},
		"flapping_object": {
			[]Body{NewFlapping(object.KeyOf(0, "BackupJob/nightly"), 5)}, `{"v":18,"records":[{"flapping":{"kind":"BackupJob","name":"nightly","level":5}}]}`,
		},
		"older":   {[]Body{event}, `{"v":1,"records":[{"event":{"name":"x"}}]}`},
		"applied": {[]Body{event, applied}, `{"v":2,"records":[{"event":{"name":"x"}},{"applied":{"vmid":1,"identity":"i"}}]}`},
		"futile":  {[]Body{event, futile}, `{"v":3,"records":[{"event":{"name":"x"}},{"futile":{"vmid":1,"revision":"r","stepDigest":"d"}}]}`},
		"futile_over": {
			[]Body{IneffectiveRestart{VMID: 1, Revision: "r", StepDigest: "d", Over: true}},
			`{"v":5,"records":[{"futile":{"vmid":1,"revision":"r","stepDigest":"d","over":true}}]}`,
		},
		"attached": {
			[]Body{event, attached}, `{"v":5,"records":[{"event":{"name":"x"}},{"attached":{"vmid":1,"identity":"i","volumes":{"scsi1":""}}}]}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := string(encodeAll(t, test.bodies)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if newerPayload([]byte(test.want)) {
				t.Errorf("got a payload of a newer release, want one of this release, whose newest version is %d", payloadVersion)
			}
			got, err := decodePayload([]byte(test.want))
			if diff := cmp.Diff(test.bodies, got); diff != "" || err != nil {
				t.Errorf("read back: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// guardedBy returns the record of a guest with a guarded firewall.
func guardedBy(vmid int, firewall string) Guarded {
	return Guarded{VMID: vmid, Rules: GuardRules{Firewall: firewall}}
}

func TestRecordJSON(t *testing.T) {
	r := Record{Seq: 4, Time: noon, Body: Disowned{VMID: 7, Reason: "destroyed"}}
	got, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"seq":4,"time":"2026-03-01T12:00:00Z","disowned":{"vmid":7,"reason":"destroyed"}}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if r.Kind() != "disowned" {
		t.Errorf("got kind %s, want disowned", r.Kind())
	}
}

// A payload that decodes is encoded and decoded to the same bodies.
func FuzzDecodePayload(f *testing.F) {
	f.Add(encodeAll(f, oneOfEach()))
	for _, b := range oneOfEach() {
		f.Add(encodeAll(f, []Body{b}))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		want, err := decodePayload(payload)
		if err != nil {
			return
		}
		got, err := decodePayload(encodeAll(t, want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("bodies (-want +got):\n%s", diff)
		}
	})
}
