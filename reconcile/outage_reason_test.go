package reconcile_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/gitsource/fault"
	"gitops-agent/internal/proxmox"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// outageCause replies in place of the cluster.
type outageCause func(*http.Request) (*http.Response, error)

// brokenWire replies in place of the cluster while a cause is set.
type brokenWire struct {
	next  http.RoundTripper
	cause atomic.Pointer[outageCause]
}

func (w *brokenWire) RoundTrip(r *http.Request) (*http.Response, error) {
	if cause := w.cause.Load(); cause != nil {
		return (*cause)(r)
	}
	return w.next.RoundTrip(r)
}

// only lets the cause reply to requests for one path.
func (w *brokenWire) only(path string, cause outageCause) {
	here := outageCause(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, path) {
			return cause(r)
		}
		return w.next.RoundTrip(r)
	})
	w.cause.Store(&here)
}

func fails(err error) outageCause {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

func replies(status int, body string) outageCause {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r, Header: http.Header{},
		}, nil
	}
}

var outageCauses = map[string]struct {
	cause outageCause
	want  cluster.Outage
}{
	"refused_connection": {fails(&net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}), cluster.OutageUnreachable},
	"lost_connection":    {fails(io.ErrUnexpectedEOF), cluster.OutageBroken},
	"certificate":        {fails(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), cluster.OutageTLS},
	"clock_of_the_host":  {fails(&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired}}), cluster.OutageTLS},
	"token":              {replies(401, ""), cluster.OutageUnauthorized},
	"privilege":          {replies(403, `{"message":"Permission check failed (/, Sys.Audit)"}`), cluster.OutageDenied},
	"node_behind":        {replies(595, ""), cluster.OutageUnavailable},
	"page":               {replies(503, "<html>maintenance</html>"), cluster.OutageInvalid},
	"not_json":           {replies(200, "{"), cluster.OutageInvalid},
	"failed_reply":       {replies(500, `{"message":"no such luck"}`), cluster.OutageFailed},
}

// TestOutagesHaveTheirReason breaks the connection to the cluster at the start of the agent, and while it runs. Within one tick the report names the
// cluster, and why, and nothing else.
func TestOutagesHaveTheirReason(t *testing.T) {
	t.Parallel()
	for name, test := range outageCauses {
		for _, atStart := range []bool{true, false} {
			when := map[bool]string{true: "at_the_start", false: "later"}[atStart]
			t.Run(name+"/"+when, func(t *testing.T) {
				runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
					w := &brokenWire{next: l.sim.Transport()}
					l.cluster = l.connect(proxmox.Options{Transport: w})
					l.opts.Cluster, l.opts.Floors = l.cluster, l.cluster
					l.files["web.yaml"] = vmYAML("web-1", 201)
					l.push("one guest", alice)
					l.once()
					if atStart {
						w.cause.Store(&test.cause)
					}
					defer l.start()()
					if !atStart {
						l.converge()
						w.cause.Store(&test.cause)
					}
					time.Sleep(16 * time.Second)
					for range 10 {
						r := l.engine.Report()
						if r.Proxmox.Reason != test.want || r.Proxmox.Ready || r.Proxmox.Error == "" || r.Writes.Reason != reason.StopNotReady || r.Source.Reason != fault.None {
							t.Fatalf("got cluster %q (%s), writes %q, source %q, want the cluster %q alone", r.Proxmox.Reason, r.Proxmox.Error, r.Writes.Reason, r.Source.Reason, test.want)
						}
						time.Sleep(15 * time.Second)
					}
					w.cause.Store(nil)
					l.converge()
					if r := l.engine.Report(); r.Proxmox.Reason != cluster.OutageNone || !r.Proxmox.Ready {
						t.Errorf("got cluster %q, want it ready", r.Proxmox.Reason)
					}
				})
			})
		}
	}
}

// TestLateClusterHasItsReason lets the cluster never reply. The report names the list of guests as late within a tick, and the cluster when the time limit
// of the calls is over.
func TestLateClusterHasItsReason(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		w := &brokenWire{next: l.sim.Transport()}
		l.cluster = l.connect(proxmox.Options{Transport: w})
		l.opts.Cluster, l.opts.Floors = l.cluster, l.cluster
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		hangs := outageCause(func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() })
		w.cause.Store(&hangs)
		time.Sleep(21 * time.Second)
		if r := l.engine.Report(); !isLate(r, report.ComponentList) {
			t.Errorf("got %+v late, want the list of guests", r.Late)
		}
		eventually(t, "the reason", func() bool { return l.engine.Report().Proxmox.Reason == cluster.OutageLate })
		w.cause.Store(nil)
		l.converge()
	})
}

// TestOutagesAreThoseOfTheirPackages compares the table of reasons with the enumerations of the packages that find them.
func TestOutagesAreThoseOfTheirPackages(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, f := range fault.All() {
		want = append(want, "source "+string(f))
	}
	for _, o := range cluster.Outages() {
		want = append(want, "proxmox "+string(o))
	}
	for _, f := range journal.Faults() {
		want = append(want, "journal "+string(f))
	}
	for _, r := range reason.Outages() {
		got = append(got, string(r.Part)+" "+r.Name)
	}
	works := []string{"source " + string(fault.None), "proxmox " + string(cluster.OutageNone), "journal " + string(journal.FaultNone)}
	got = slices.Sorted(slices.Values(append(got, works...)))
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("got reasons %v, want %v", got, want)
	}
}

// TestUnreachableRemoteHasItsReason removes the repository while the agent runs. The accepted revision stays in force, and the cluster is not to blame.
func TestUnreachableRemoteHasItsReason(t *testing.T) {
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		remote := l.repo.Dir
		l.repo.Dir = t.TempDir()
		rename(l, remote, remote+".away")
		eventually(t, "the fault of the remote", func() bool { return l.engine.Report().Source.Error != "" })
		r := l.engine.Report()
		if r.Source.Reason == fault.None || r.Source.Reason == fault.Local || r.Source.Remotes[0].Reason != r.Source.Reason || !r.Writes.Allowed || !r.Proxmox.Ready {
			t.Errorf("got source %q (%s), remote %q, writes %q, want the remote alone to blame", r.Source.Reason, r.Source.Error, r.Source.Remotes[0].Reason, r.Writes.Reason)
		}
		rename(l, remote+".away", remote)
		eventually(t, "the remote to answer", func() bool { return l.engine.Report().Source.Reason == fault.None })
	})
}

func rename(l *lab, from, to string) {
	l.Helper()
	l.ok(os.Rename(from, to))
}
