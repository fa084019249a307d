package plan_test

import (
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/plan"

	"github.com/google/go-cmp/cmp"
)

// TestRecordOfAnAgreement records how a backup job was when it agreed with its manifest, which names the schedule and the storage.
func TestRecordOfAnAgreement(t *testing.T) {
	type texts = map[string]journal.AgreedText
	d := kind.Desired{Kind: kinds.BackupJobs, ID: "nightly", Keys: []kind.Intent{{Key: "schedule", Text: "02:00"}, {Key: "storage", Text: "local"}}}
	guarded := plan.Objects{Guarded: []kind.Guarded{{Ref: guest.Ref{VMID: 201}, Guards: []guest.GuardField{guest.GuardBackup}}}}
	unnamed := func(with texts) texts {
		k, _ := kinds.Of(kinds.BackupJobs)
		for _, key := range k.GuardKeys {
			if key != "schedule" && key != "storage" {
				with[key] = journal.AgreedText{Unsure: true}
			}
		}
		return with
	}
	agreed := unnamed(texts{"schedule": {Text: "02:00"}, "storage": {Text: "local"}})
	tests := map[string]struct {
		record  texts
		live    map[string]string
		objects plan.Objects
		want    texts
	}{
		"first":          {nil, map[string]string{"schedule": "02:00", "storage": "local"}, guarded, agreed},
		"no_guard":       {nil, map[string]string{"schedule": "02:00", "storage": "local"}, plan.Objects{}, nil},
		"guard_is_gone":  {agreed, map[string]string{"schedule": "02:00", "storage": "local"}, plan.Objects{}, nil},
		"first_differs":  {nil, map[string]string{"schedule": "03:00", "storage": "local"}, guarded, unnamed(texts{"storage": {Text: "local"}})},
		"edited":         {agreed, map[string]string{"schedule": "03:00", "storage": "local", "exclude-path": "/"}, guarded, agreed},
		"done_by_hand":   {unnamed(texts{"schedule": {Text: "01:00"}, "storage": {Text: "local"}}), map[string]string{"schedule": "02:00", "storage": "local"}, guarded, unnamed(texts{"schedule": {Text: "01:00", Unsure: true}, "storage": {Text: "local"}})},
		"wanted_again":   {unnamed(texts{"schedule": {Text: "02:00", Unsure: true}, "storage": {Text: "local"}}), map[string]string{"schedule": "02:00", "storage": "local"}, guarded, agreed},
		"not_wanted_now": {unnamed(texts{"schedule": {Text: "01:00"}, "storage": {Text: "local"}}), map[string]string{"schedule": "01:00", "storage": "local"}, guarded, unnamed(texts{"schedule": {Text: "01:00"}, "storage": {Text: "local"}})},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, differs := plan.WithAgreed(journal.OwnedObject{Agreed: test.record}, d, cluster.Object{ID: "nightly", Keys: test.live}, test.objects)
			if diff := cmp.Diff(test.want, got.Agreed); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if want := !cmp.Equal(test.record, test.want); differs != want {
				t.Errorf("got differs %t, want %t", differs, want)
			}
		})
	}
}

// TestRecordEndsWithAStepThatChangesIt begins steps that give keys other texts, and texts that they had before.
func TestRecordEndsWithAStepThatChangesIt(t *testing.T) {
	record := map[string]journal.AgreedText{"schedule": {Text: "02:00"}, "storage": {Text: "local", Unsure: true}, "remove": {}}
	tests := map[string]struct {
		sets map[string]string
		want []string
	}{
		"repair":       {map[string]string{"schedule": "02:00"}, []string{"remove", "schedule", "storage"}},
		"other_text":   {map[string]string{"schedule": "03:00"}, []string{"remove", "storage"}},
		"unsure":       {map[string]string{"storage": "local"}, []string{"remove", "schedule"}},
		"repair_of_no": {map[string]string{"remove": ""}, []string{"remove", "schedule", "storage"}},
		"not_recorded": {map[string]string{"exclude-path": "/"}, []string{"remove", "schedule", "storage"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, differs := plan.ObjectStep{Guarded: test.sets}.Begin(journal.OwnedObject{Agreed: record})
			want := map[string]journal.AgreedText{}
			for _, key := range test.want {
				want[key] = record[key]
			}
			if diff := cmp.Diff(want, got.Agreed); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if differs != (len(want) < len(record)) {
				t.Errorf("got differs %t", differs)
			}
		})
	}
}
