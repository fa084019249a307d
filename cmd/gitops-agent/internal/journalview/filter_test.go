package journalview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/journal"
)

// history is the life of two guests. Web-1 is destroyed after an approval, and db-1 gets its vmid.
func history() []journal.Record {
	begun := func(step, name string, vmid int, op, class, commit, digest string) journal.Begun {
		return journal.Begun{Step: step, VMID: vmid, Kind: "VirtualMachine", Name: name, Op: op, Class: class, Revision: "main@sha1:" + commit, StepDigest: digest}
	}
	bodies := []journal.Body{
		1:  journal.Accepted{Commit: "aaa111", Subject: "alice@lab.test"},
		2:  journal.Owned{VMID: 201, Kind: "VirtualMachine", Name: "web-1", Identity: "i1", Origin: journal.Created},
		3:  begun("STEPONE", "web-1", 201, "create", "live", "aaa111", ""),
		4:  journal.Dispatched{Step: "STEPONE"},
		5:  journal.Ended{Step: "STEPONE", Result: journal.Done},
		6:  journal.Accepted{Commit: "bbb222", Subject: "olga@lab.test"},
		7:  journal.Ordered{Key: "k", Order: "approve d19e57", Subject: "olga@lab.test", Signer: "olga", Commit: "bbb222", State: journal.OrderSeen},
		8:  begun("STEPTWO", "web-1", 201, "destroy", "destructive", "bbb222", "d19e57"),
		9:  journal.Ended{Step: "STEPTWO", Result: journal.Done},
		10: journal.Disowned{VMID: 201, Reason: "destroyed"},
		11: journal.Ordered{Key: "k", Order: "approve d19e57", Subject: "olga@lab.test", Signer: "olga", Commit: "bbb222", State: journal.OrderRun, Step: "STEPTWO"},
		12: journal.Introduced{Kind: "VirtualMachine", Name: "db-1", By: []journal.Introduction{{Signer: "alice", Commit: "ccc333"}}},
		13: journal.Owned{VMID: 201, Kind: "VirtualMachine", Name: "db-1", Identity: "i2", Origin: journal.Created},
		14: journal.Event{Name: "drift-found", VMID: 201, Revision: "main@sha1:ccc333"},
		15: journal.Introduced{Kind: "VirtualMachine", Name: "db-1", By: []journal.Introduction{{Signer: "alice", Commit: "ccc333"}}},
		16: journal.Writer{Number: 1, Nonce: "n"},
		17: journal.Evidence{Commit: "bbb222", Bundle: "{}"},
	}
	var records []journal.Record
	for i, body := range bodies[1:] {
		records = append(records, journal.Record{Seq: uint64(i + 1), Time: noon.Add(time.Duration(i+1) * time.Minute), Body: body})
	}
	return records
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestFilter(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		filter Filter
		want   []uint64
	}{
		"label":            {Filter{Guest: "VirtualMachine/web-1"}, []uint64{2, 3, 4, 5, 8, 9, 10, 11}},
		"label_any_case":   {Filter{Guest: "virtualmachine/WEB-1"}, []uint64{2, 3, 4, 5, 8, 9, 10, 11}},
		"later_guest":      {Filter{Guest: "VirtualMachine/db-1"}, []uint64{12, 13, 14, 15}},
		"vmid":             {Filter{Guest: "201"}, []uint64{2, 3, 4, 5, 8, 9, 10, 11, 13, 14, 15}},
		"unknown_guest":    {Filter{Guest: "VirtualMachine/web"}, nil},
		"revision":         {Filter{Revision: "bbb"}, []uint64{6, 7, 8, 9, 11, 17}},
		"revision_in_full": {Filter{Revision: "main@sha1:ccc333"}, []uint64{12, 14, 15}},
		"subject":          {Filter{Signers: []string{"Olga@lab.test"}}, []uint64{6, 7, 8, 9, 11}},
		"signer_name":      {Filter{Signers: []string{"alice"}}, []uint64{12, 15}},
		"op":               {Filter{Step: "destroy"}, []uint64{8, 9, 11}},
		"class":            {Filter{Step: "live"}, []uint64{3, 4, 5}},
		"digest":           {Filter{Step: "D19"}, []uint64{7, 8, 9, 11}},
		"step_id":          {Filter{Step: "stepone"}, []uint64{3, 4, 5}},
		"since":            {Filter{Since: noon.Add(15 * time.Minute)}, []uint64{15, 16, 17}},
		"until":            {Filter{Until: noon.Add(3 * time.Minute)}, []uint64{1, 2}},
		"all_of_them": {
			Filter{Guest: "201", Revision: "bbb222", Step: "destructive", Since: noon.Add(9 * time.Minute), Until: noon.Add(12 * time.Minute)},
			[]uint64{9, 11},
		},
		"name_and_subject":  {Filter{Signers: []string{"alice", "alice@lab.test"}}, []uint64{1, 3, 4, 5, 12, 15}},
		"steps_of_a_signer": {Filter{Signers: []string{"olga@lab.test"}, Step: "destroy"}, []uint64{8, 9, 11}},
		"other_steps":       {Filter{Signers: []string{"alice@lab.test"}, Step: "destroy"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []uint64
			s := newSelection(tt.filter)
			for _, r := range history() {
				if s.selects(r) {
					got = append(got, r.Seq)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got records %v, want %v", got, tt.want)
			}
		})
	}
}

// TestFilterForgetsSteps checks that what a filter remembers does not grow with the journal.
func TestFilterForgetsSteps(t *testing.T) {
	t.Parallel()
	s := newSelection(Filter{Guest: "201"})
	for i := range 1000 {
		step := fmt.Sprintf("STEP%d", i)
		s.selects(journal.Record{Body: journal.Begun{Step: step, VMID: 201, Kind: "VirtualMachine", Name: "web-1", Op: "config"}})
		s.selects(journal.Record{Body: journal.Ended{Step: step, Result: journal.Done}})
	}
	if len(s.steps) > 1 || len(s.labels) != 1 {
		t.Errorf("got %d steps and %d guests remembered, want one of each", len(s.steps), len(s.labels))
	}
}

// TestShowWritesOneDocument compares the document that is written record by record with one that is written as a whole.
func TestShowWritesOneDocument(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 3} {
		dir := t.TempDir()
		j, err := journal.Open(journal.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if err := j.Append(t.Context(), journal.Event{Name: "test", VMID: 201, Message: fmt.Sprintf("<%d>", i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := errorOf(j.Append(t.Context(), journal.Event{Name: "other", VMID: 202}), j.Close()); err != nil {
			t.Fatal(err)
		}
		whole := struct {
			SchemaVersion int              `json:"schemaVersion"`
			Records       []journal.Record `json:"records"`
		}{term.SchemaVersion, []journal.Record{}}
		if _, err := journal.Read(dir, func(r journal.Record) error {
			if e, isEvent := r.Body.(journal.Event); isEvent && e.VMID == 201 {
				whole.Records = append(whole.Records, r)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		var got, want bytes.Buffer
		if err := errorOf(Show(&got, ShowOptions{Source: InDir(dir), Filter: Filter{Guest: "201"}, JSON: true}), term.WriteJSON(&want, whole)); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() || !json.Valid(got.Bytes()) {
			t.Errorf("%d records: got\n%s\nwant\n%s", n, got.String(), want.String())
		}
	}
	var out strings.Builder
	if err := Show(&out, ShowOptions{Source: InDir(t.TempDir()), JSON: true}); err == nil || out.Len() > 0 {
		t.Errorf("got %v and %q for no journal, want an error alone", err, out.String())
	}
}

func errorOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
