package statusview

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"

	"github.com/google/go-cmp/cmp"
)

func TestOrdersTable(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	order := func(text string, state journal.OrderState, change func(o *report.Order)) report.Order {
		o := report.Order{Order: text, Guest: "VirtualMachine/db-1", VMID: 101, Signer: "ann", Commit: "0123456789abcdef", State: state, Changed: now.Add(-time.Hour)}
		change(&o)
		return o
	}
	table := ordersTable([]report.Order{
		order("stop VirtualMachine/db-1", journal.OrderSeen, func(o *report.Order) {
			o.Why, o.Hint, o.Digest = "an approval is needed", "gitops-agent approve abcd", "abcd"
		}),
		order("backup VirtualMachine/db-1", journal.OrderRun, func(o *report.Order) {
			o.Volume, o.UPID, o.Log = "pbs:backup/vm/101", "UPID:1", "finished"
		}),
		order("start VirtualMachine/db-1", journal.OrderFailed, func(o *report.Order) {
			o.Why, o.Hint, o.UPID, o.Log, o.Signer = "the task failed\nno space left", "sign a new order", "UPID:2", "line 1\n\nline 2\nno space left\n", ""
		}),
	}, now)
	var got strings.Builder
	table.Write(&got, term.NewPalette(&got))
	want := `  ORDER                       STATE     SINCE       SIGNER  COMMIT
  stop VirtualMachine/db-1    held      1h0m0s ago  ann     0123456789  an approval is needed
                                                                        gitops-agent approve abcd
  backup VirtualMachine/db-1  executed  1h0m0s ago  ann     0123456789  backup pbs:backup/vm/101
                                                                        task UPID:1
  start VirtualMachine/db-1   failed    1h0m0s ago  -       0123456789  the task failed
                                                                        no space left
                                                                        sign a new order
                                                                        task UPID:2
                                                                        | line 1
                                                                        | line 2
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("table differs (-want +got):\n%s", diff)
	}
	if table := ordersTable(nil, now); !table.Empty() {
		t.Error("got a table without orders, want none")
	}
}
