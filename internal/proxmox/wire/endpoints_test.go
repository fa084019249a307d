package wire

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/reconcile/cluster"

	"github.com/google/go-cmp/cmp"
)

// behaviour is what an endpoint does with a request.
type behaviour func(*http.Request) (*http.Response, error)

func answers(status int, body string) behaviour {
	return func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
	}
}

func breaks(err error) behaviour {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

func hangs(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// after delays what an endpoint does.
func after(wait time.Duration, b behaviour) behaviour {
	return func(req *http.Request) (*http.Response, error) {
		select {
		case <-time.After(wait):
			return b(req)
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
}

var (
	works       = answers(http.StatusOK, `{"data":"works"}`)
	unreachable = breaks(&net.OpError{Op: "dial", Err: errors.New("connection refused")})
	noQuorum    = answers(http.StatusOK, `{"data":[{"type":"cluster","name":"lab","quorate":0}]}`)
)

// bench is a transport whose endpoints do what the test sets.
type bench struct {
	*Transport
	mu    sync.Mutex
	does  map[string]behaviour       // by the host of the endpoint
	asked map[string][]time.Duration // when it got requests, since the start
	start time.Time
}

// newBench returns a transport for endpoints with these hosts. It must be called in a bubble of synctest.
func newBench(t *testing.T, hosts ...string) *bench {
	t.Helper()
	b := &bench{does: make(map[string]behaviour), asked: make(map[string][]time.Duration), start: time.Now()}
	var urls []*url.URL
	for _, host := range hosts {
		urls = append(urls, &url.URL{Scheme: "https", Host: host})
	}
	b.Transport = New(Options{
		Next: b, URLs: urls, ReadsPerNode: 100, WritesPerNode: 1, Timeout: 30 * time.Second, Grace: time.Second,
		MayWrite: func() error { return nil }, OnRequest: func(cluster.Exchange) {}, Logger: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(b.Close)
	return b
}

func (b *bench) set(host string, does behaviour) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.does[host] = does
}

// RoundTrip implements http.RoundTripper.
func (b *bench) RoundTrip(req *http.Request) (*http.Response, error) {
	b.mu.Lock()
	does := b.does[req.URL.Host]
	b.asked[req.URL.Host] = append(b.asked[req.URL.Host], time.Since(b.start))
	b.mu.Unlock()
	return does(req)
}

// get reads a path, and returns the reply and the time that the read took.
func (b *bench) get(ctx context.Context, label string) (string, time.Duration, error) {
	x := &Exchange{Method: http.MethodGet, Route: label, Path: label}
	req, err := http.NewRequestWithContext(WithExchange(ctx, x), http.MethodGet, "https://cluster"+route.Base+label, http.NoBody)
	if err != nil {
		return "", 0, err
	}
	begun := time.Now()
	res, err := b.Transport.RoundTrip(req)
	if err != nil {
		return "", time.Since(begun), err
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	return string(body), time.Since(begun), err
}

func count(faults map[cluster.EndpointFault]uint64) (all uint64) {
	for _, n := range faults {
		all += n
	}
	return all
}

// All requests in flight meet the same short disturbance of their endpoint. It is probed after five seconds, as after one fault, and soon up again.
func TestFaultsOfOneDisturbanceAreOneStep(t *testing.T) {
	t.Parallel()
	for name, blip := range map[string]behaviour{
		"unreachable":  after(1500*time.Millisecond, unreachable),
		"broken":       after(1500*time.Millisecond, breaks(io.ErrUnexpectedEOF)),
		"unavailable":  after(1500*time.Millisecond, answers(http.StatusServiceUnavailable, "")),
		"unauthorized": after(1500*time.Millisecond, answers(http.StatusUnauthorized, "")),
		"page":         after(1500*time.Millisecond, answers(http.StatusOK, "<html></html>")),
		"late":         after(10*time.Second, works),
		"one_by_one": func(req *http.Request) (*http.Response, error) { // they end over four seconds, as those on several connections
			wait, err := time.ParseDuration(req.Header.Get("Wait"))
			if err != nil {
				return nil, err
			}
			return after(wait, unreachable)(req)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, "a", "b")
				b.set("b", works)
				b.set("a", blip)
				var reads sync.WaitGroup
				for i := range 20 {
					reads.Go(func() {
						req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://cluster/api2/json/version", http.NoBody)
						if err != nil {
							t.Error(err)
							return
						}
						req.Header.Set("Wait", (1500*time.Millisecond + time.Duration(i)*200*time.Millisecond).String())
						res, err := b.Transport.RoundTrip(req)
						if err != nil {
							t.Errorf("got error %v, want the reply of the other endpoint", err)
							return
						}
						_ = res.Body.Close()
					})
				}
				time.Sleep(time.Millisecond)
				b.set("a", works)
				reads.Wait()
				down := b.Report()[0]
				if down.State != cluster.EndpointDown || count(down.Faults) != 20 {
					t.Fatalf("got %+v, want the endpoint down after 20 faults", down)
				}
				for range 12 {
					time.Sleep(time.Second)
					if _, took, err := b.get(t.Context(), "/version"); err != nil || took != 0 {
						t.Errorf("got error %v after %s, want the reply of the other endpoint at once", err, took)
					}
				}
				if got := b.Report()[0]; got.State != cluster.EndpointUp {
					t.Errorf("got %+v 12 s later, want it up again", got)
				}
			})
		})
	}
}

// The time between two probes of an endpoint that stays down doubles up to a minute.
func TestProbesOfALongOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "a", "b")
		b.set("a", unreachable)
		b.set("b", works)
		for range 220 {
			if _, _, err := b.get(t.Context(), "/version"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		want := []time.Duration{0, 5 * time.Second, 15 * time.Second, 35 * time.Second, 75 * time.Second, 135 * time.Second, 195 * time.Second}
		if diff := cmp.Diff(want, b.asked["a"]); diff != "" {
			t.Errorf("requests to the endpoint (-want +got):\n%s", diff)
		}
	})
}

// While no endpoint is up, a read asks all, so that the one that works again answers it at once, whichever that is and whatever the others do.
func TestAllAreAskedWhenNoneIsUp(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		others behaviour
		hosts  []string
	}{
		"others_hang":       {hangs, []string{"a", "b", "c"}},
		"others_refuse":     {unreachable, []string{"a", "b", "c"}},
		"others_are_slow":   {after(10*time.Second, works), []string{"a", "b", "c"}},
		"other_has_no_node": {answers(StatusUnconnected, ""), []string{"a", "b"}}, // two that answer alike would be believed
		"other_fails":       {answers(http.StatusInternalServerError, `{"data":null,"message":"unable to open file"}`), []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at, working := range test.hosts {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t, test.hosts...)
					for _, host := range test.hosts {
						b.set(host, unreachable)
					}
					for range 4 { // the probes would now be a minute apart
						_, _, _ = b.get(t.Context(), "/version")
						time.Sleep(time.Minute)
					}
					for _, host := range test.hosts {
						b.set(host, test.others)
					}
					b.set(working, works)
					if got, took, err := b.get(t.Context(), "/version"); err != nil || took != 0 || got != `{"data":"works"}` {
						t.Errorf("%s works: got %q, error %v after %s, want its reply at once", working, got, err, took)
					}
					if got := b.Report()[at]; got.State != cluster.EndpointUp || !got.Current {
						t.Errorf("%s works: got %+v, want it in use", working, got)
					}
					for i, other := range b.Report() {
						if i != at && other.Faults[cluster.FaultLate] > 0 {
							t.Errorf("got %+v, want no endpoint late that was asked at the same time", other)
						}
					}
				})
			}
		})
	}
}

// An endpoint that is down because its part of the cluster has no quorum may show what is old, also when no other endpoint is up. It answers a read only if no
// other endpoint does.
func TestEndpointWithoutQuorumIsAskedLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "a", "b")
		b.set("a", noQuorum)
		b.set("b", works)
		if _, _, err := b.get(t.Context(), route.ClusterInfo); err != nil {
			t.Fatal(err)
		}
		b.set("b", unreachable)
		b.set("a", breaks(io.ErrUnexpectedEOF))
		if _, _, err := b.get(t.Context(), "/version"); err == nil {
			t.Fatal("got a reply, want none")
		}
		for _, e := range b.Report() {
			if e.State != cluster.EndpointDown {
				t.Fatalf("got %+v, want no endpoint up", e)
			}
		}
		b.set("a", answers(http.StatusOK, `{"data":"old"}`))
		b.set("b", after(2*time.Second, works))
		if got, _, err := b.get(t.Context(), "/version"); err != nil || got != `{"data":"works"}` {
			t.Errorf("got %q, error %v, want the reply of the endpoint that was not without quorum", got, err)
		}
	})
}

// All endpoints that are up are late, while one that is down works again, and its next probe is up to a minute away. The first read asks it too, and all later ones
// are answered at once.
func TestEndpointThatIsDownIsAskedWhenTheOthersAreLate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		others behaviour
		hosts  []string
	}{
		"other_hangs":     {hangs, []string{"a", "b"}},
		"others_hang":     {hangs, []string{"a", "b", "c"}},
		"other_is_slow":   {after(10*time.Second, works), []string{"a", "b"}},
		"others_are_slow": {after(10*time.Second, works), []string{"a", "b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, test.hosts...)
				for _, host := range test.hosts {
					b.set(host, works)
				}
				b.set("a", unreachable)
				for range 220 { // its probes are now a minute apart
					_, _, _ = b.get(t.Context(), "/version")
					time.Sleep(time.Second)
				}
				b.set("a", works)
				for _, host := range test.hosts[1:] {
					b.set(host, test.others)
				}
				if _, took, err := b.get(t.Context(), "/version"); err != nil || took != time.Duration(len(test.hosts)-1)*hedgeDelay {
					t.Errorf("got error %v after %s, want a reply %s after each late endpoint was asked", err, took, hedgeDelay)
				}
				for range 5 {
					if _, took, err := b.get(t.Context(), "/version"); err != nil || took != 0 {
						t.Errorf("got error %v after %s, want a reply at once", err, took)
					}
					time.Sleep(time.Second)
				}
			})
		})
	}
}

// An endpoint without quorum, whose replies may be old, is not asked because others are late.
func TestEndpointWithoutQuorumIsNotAskedWhenOthersAreLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "a", "b")
		b.set("a", noQuorum)
		b.set("b", works)
		if _, _, err := b.get(t.Context(), route.ClusterInfo); err != nil {
			t.Fatal(err)
		}
		b.set("a", answers(http.StatusOK, `{"data":"old"}`))
		b.set("b", after(4*time.Second, works))
		if got, _, err := b.get(t.Context(), "/version"); err != nil || got != `{"data":"works"}` {
			t.Errorf("got %q, error %v, want the late reply of the endpoint with quorum", got, err)
		}
	})
}
