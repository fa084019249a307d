package proxmox

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"

	"github.com/google/go-cmp/cmp"
)

func TestSlotsLimitEachNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		inFlight, most := map[string]int{}, map[string]int{}
		client := inProcess(t, roundTrip(func(req *http.Request) (stubReply, error) {
			node := strings.Split(req.URL.Path, "/")[4]
			class := req.Method + " " + node
			mu.Lock()
			inFlight[class]++
			most[class] = max(most[class], inFlight[class])
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			inFlight[class]--
			mu.Unlock()
			if req.Method == http.MethodGet {
				return ok(`{"status":"running"}`), nil
			}
			return ok(`"` + testUPID + `"`), nil
		}))
		var all sync.WaitGroup
		for i := range 20 {
			for _, node := range []string{"pve1", "pve2"} {
				all.Go(func() {
					if _, _, err := client.Status(t.Context(), cluster.Row{Kind: guest.Container, VMID: 100 + i, Node: node}); err != nil {
						t.Error(err)
					}
				})
				all.Go(func() {
					if _, err := client.Do(t.Context(), cluster.Call{Op: cluster.OpStop, Kind: guest.Container, VMID: 100 + i, Node: node}, nil); err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		want := map[string]int{"GET pve1": 6, "GET pve2": 6, "POST pve1": 2, "POST pve2": 2}
		if diff := cmp.Diff(want, most); diff != "" {
			t.Errorf("highest number of exchanges in flight (-want +got)\n%s", diff)
		}
	})
}

// Waiting for a slot is not part of an exchange: the time limit does not apply, and the outcome is not unknown.
func TestWaitingForSlotEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, Options{Endpoints: []string{"https://pve1.test"}, Transport: stall, WritesPerNode: 1})
		go func() { _, _ = client.Do(t.Context(), startCall, nil) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := client.Do(ctx, startCall, nil)
		if !errors.Is(err, context.DeadlineExceeded) || meanings(err) != nil {
			t.Errorf("got error %v, want only that of the context", err)
		}
		time.Sleep(defaultTimeout)
	})
}
