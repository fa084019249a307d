package reconcile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/writer"
)

// comments returns how often the agent read and wrote pools since the counters were reset.
func (l *lab) comments() (reads, writes int) {
	routes := l.sim.Counters().Routes
	return routes["GET /pools"], routes["PUT /pools"] + routes["POST /pools"]
}

// TestClaimCosts counts the requests for the pool comment: one reading a minute while there is nothing to write, also after a restart; one for each cycle that offers
// work and at most one for each create; one in two seconds for other calls together.
func TestClaimCosts(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		guests := func(n int, lines ...string) {
			for i := range n {
				l.files[fmt.Sprintf("g%d.yaml", i)] = vmYAML(fmt.Sprintf("web-%d", i), 201+i, lines...)
			}
			l.push("guests", alice)
		}
		guests(10, "description: first")
		stop := l.start()
		l.converge()
		reads, writes := l.comments()
		if writes > 3 || reads > 60 {
			t.Errorf("ten creates: got %d readings and %d writes of the comment, want at most 60 and 3", reads, writes)
		}
		t.Logf("ten creates and ten configurations: %d readings, %d writes", reads, writes)
		l.sim.ResetCounters()
		time.Sleep(time.Hour)
		if reads, writes := l.comments(); reads < 45 || reads > 60 || writes != 0 {
			t.Errorf("idle for an hour: got %d readings and %d writes, want one reading a minute", reads, writes)
		}
		l.sim.ResetCounters()
		guests(10, "description: second")
		l.converge()
		reads, writes = l.comments()
		if writes != 1 || reads > 30 {
			t.Errorf("ten configurations: got %d readings and %d writes, want at most 30, and the floor written", reads, writes)
		}
		t.Logf("ten configurations: %d readings, %d writes", reads, writes)
		stop()
		l.sim.ResetCounters()
		stop = l.start()
		defer stop()
		l.converge()
		time.Sleep(time.Hour)
		if reads, writes := l.comments(); reads < 45 || reads > 61 || writes != 0 {
			t.Errorf("restart with nothing to write: got %d readings and %d writes, want one reading of the floor, and one a minute", reads, writes)
		}
	})
}

// TestClaimIsDenied starts an agent whose token may not write the comment. It writes nothing and names the privilege; with the privilege it continues.
func TestClaimIsDenied(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		all := pvesim.ACL{Path: "/", Role: "Administrator"}
		l.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{all, {Path: "/pool", Role: "PVEPoolUser"}}) // the longer path replaces the shorter one
		defer l.start()()
		time.Sleep(10 * time.Minute)
		w := l.engine.Report().Writes
		if w.Allowed || w.Reason != reason.StopUnclaimed || !strings.Contains(w.Message, "Pool.Allocate on /pool/"+writer.Pool) {
			t.Errorf("got writes %+v, want them stopped with the privilege", w)
		}
		if got := l.sim.Effects(201, pvesim.Cloned); got != 0 {
			t.Errorf("got %d clones, want none", got)
		}
		l.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{all})
		l.converge()
	})
}

// TestCommentIsEditedInMidWork removes the mark, or fails the readings of the comment, while the agent has work. It continues by itself.
func TestCommentIsEditedInMidWork(t *testing.T) {
	t.Parallel()
	faults := map[string]pvesim.Fault{
		"edited":      {Method: "GET", Path: "^/pools", Kind: pvesim.CommentBefore, Key: writer.Pool, Value: "do not touch", Times: 3},
		"not_read":    {Method: "GET", Path: "^/pools", Kind: pvesim.ErrorText, Text: "got timeout", Times: 3},
		"not_written": {Method: "PUT", Path: "^/pools", Kind: pvesim.ErrorText, Text: "got timeout", Times: 3},
		"late":        {Method: "PUT", Path: "^/pools", Kind: pvesim.SlowCall, Delay: time.Minute, Times: 1},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = vmYAML("web-1", 201, "description: first")
				l.push("one guest", alice)
				defer l.start()()
				l.converge()
				l.ok(l.sim.Inject(fault))
				l.files["web.yaml"], l.files["db.yaml"] = vmYAML("web-1", 201, "description: second"), vmYAML("db-1", 202)
				l.push("two guests", alice)
				l.converge()
				time.Sleep(10 * time.Minute)
				c, err := writer.Parse(l.comment())
				if err != nil || c.Floor.Commit != l.repo.Tip || c.Writer.Number == 0 {
					t.Errorf("got comment %q, want the floor and a mark", l.comment())
				}
				if got := l.sim.Effects(202, pvesim.Cloned); got != 1 {
					t.Errorf("got %d clones, want 1", got)
				}
			})
		})
	}
}

func (l *lab) comment() string {
	text, _ := l.sim.PoolComment(writer.Pool)
	return text
}
