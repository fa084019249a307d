// Package control is an HTTP endpoint with which people and scripts inspect a simulated cluster, change it behind the API's back, and inject faults. cmd/pvesim
// and cmd/sandbox serve it beside the API.
//
// control.go has reading, faults, edits and counters; outage.go has nodes, quorum, storages, privileges and announced losses; web.go has
// files that nodes download. Usage lists the calls.
package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"gitops-agent/internal/pvesim"
)

// Usage lists the calls, one on each line.
const Usage = `  GET  /state                  guests, volumes, tasks, held calls, violated invariants
  GET  /counters               calls by route, effects by guest, changes of other objects
  GET  /config/{vmid}          the config file of a guest
  GET  /held?n=1&timeout=10s   waits until n calls are held
  POST /faults                 {"kind":"hold-before","method":"POST","path":"/status/start$","vmid":100}
  DELETE /faults               removes faults; held calls stay held
  POST /release                lets held calls continue
  POST /edit                   {"vmid":100,"key":"memory","value":"4096"} changes a config without the API
  POST /nodes/{node}           {"state":"stopped"}, "started" or "rebooted", the last with {"takes":"30s"}
  POST /quorum                 {"quorate":false}
  POST /upgrade                {"version":"9.2.11"} gives all nodes this release; {"migrate":true} makes rules of HA groups
  POST /storages/{storage}     {"full":true}
  POST /web                    {"url":"https://images.test/a.qcow2","size":1048576,"checksums":{"sha256":"0123..."},"format":"qcow2"} puts a
                               file on a web server that the nodes reach
  POST /privileges             {"id":"gitops@pve!agent","path":"/","privileges":["VM.Audit"]} replaces all that it had
  POST /announce               {"vmid":100,"marker":"tag"} or {"volume":"local-lvm:vm-100-disk-0"} permits this loss; after the
                               first call /state reports every other loss as a violation
  POST /reset                  sets counters to zero and removes faults
`

// New returns the handler of the endpoint. It has no authentication, so it must listen on loopback.
func New(sim *pvesim.Sim) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, readState(sim)) })
	mux.HandleFunc("GET /counters", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, sim.Counters()) })
	mux.HandleFunc("GET /config/{vmid}", func(w http.ResponseWriter, r *http.Request) { readConfig(w, r, sim) })
	mux.HandleFunc("GET /held", func(w http.ResponseWriter, r *http.Request) { waitHeld(w, r, sim) })
	mux.HandleFunc("POST /faults", func(w http.ResponseWriter, r *http.Request) { inject(w, r, sim) })
	mux.HandleFunc("DELETE /faults", func(w http.ResponseWriter, _ *http.Request) {
		sim.ClearFaults()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /edit", func(w http.ResponseWriter, r *http.Request) { edit(w, r, sim) })
	mux.HandleFunc("POST /nodes/{node}", func(w http.ResponseWriter, r *http.Request) { setNode(w, r, sim) })
	mux.HandleFunc("POST /upgrade", func(w http.ResponseWriter, r *http.Request) { upgrade(w, r, sim) })
	mux.HandleFunc("POST /quorum", func(w http.ResponseWriter, r *http.Request) { setQuorum(w, r, sim) })
	mux.HandleFunc("POST /storages/{storage}", func(w http.ResponseWriter, r *http.Request) { fillStorage(w, r, sim) })
	mux.HandleFunc("POST /web", func(w http.ResponseWriter, r *http.Request) { publishFile(w, r, sim) })
	mux.HandleFunc("POST /privileges", func(w http.ResponseWriter, r *http.Request) { setPrivileges(w, r, sim) })
	mux.HandleFunc("POST /announce", func(w http.ResponseWriter, r *http.Request) { announceLoss(w, r, sim) })
	mux.HandleFunc("POST /release", func(w http.ResponseWriter, _ *http.Request) {
		sim.Release()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /reset", func(w http.ResponseWriter, _ *http.Request) {
		sim.ClearFaults()
		sim.ResetCounters()
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

// state is the reply to GET /state.
type state struct {
	Guests     []pvesim.GuestInfo `json:"guests"`
	Volumes    []string           `json:"volumes"`
	Tasks      []pvesim.TaskInfo  `json:"tasks"`
	Held       []pvesim.HeldCall  `json:"held"`
	Violations []string           `json:"violations"`
}

func readState(sim *pvesim.Sim) state {
	s := state{Guests: sim.Guests(), Volumes: []string{}, Tasks: sim.Tasks(), Held: sim.Held(), Violations: sim.Violations()}
	for _, v := range sim.Volumes() {
		s.Volumes = append(s.Volumes, v.ID)
	}
	return s
}

func readConfig(w http.ResponseWriter, r *http.Request, sim *pvesim.Sim) {
	vmid, err := strconv.Atoi(r.PathValue("vmid"))
	text := sim.Config(vmid)
	if err != nil || text == "" {
		http.Error(w, fmt.Sprintf("guest %q does not exist", r.PathValue("vmid")), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text)
}

// waitHeld replies with the held calls as soon as there are n of them, or with 504 after the timeout.
func waitHeld(w http.ResponseWriter, r *http.Request, sim *pvesim.Sim) {
	n, timeout := 1, 10*time.Second
	var err1, err2 error
	if s := r.FormValue("n"); s != "" {
		n, err1 = strconv.Atoi(s)
	}
	if s := r.FormValue("timeout"); s != "" {
		timeout, err2 = time.ParseDuration(s)
	}
	if err := errors.Join(err1, err2); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	if err := sim.WaitHeld(ctx, n); err != nil {
		http.Error(w, err.Error(), http.StatusGatewayTimeout)
		return
	}
	writeJSON(w, sim.Held())
}

// faultRequest is a pvesim.Fault as JSON; delay is a Go duration.
type faultRequest struct {
	Kind        pvesim.FaultKind `json:"kind"`
	Method      string           `json:"method"`
	Writes      bool             `json:"writes"`
	Path        string           `json:"path"`
	Host        string           `json:"host"`
	VMID        int              `json:"vmid"`
	Nth         int              `json:"nth"`
	Times       int              `json:"times"`
	Chance      float64          `json:"chance"`
	Delay       string           `json:"delay"`
	Status      int              `json:"status"`
	Text        string           `json:"text"`
	Phase       int              `json:"phase"`
	Key         string           `json:"key"`
	Value       string           `json:"value"`
	AfterActing bool             `json:"after_acting"`
}

func inject(w http.ResponseWriter, r *http.Request, sim *pvesim.Sim) {
	var q faultRequest
	if !readJSON(w, r, &q) {
		return
	}
	var delay time.Duration
	if q.Delay != "" {
		var err error
		if delay, err = time.ParseDuration(q.Delay); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	err := sim.Inject(pvesim.Fault{
		Kind: q.Kind, Method: q.Method, Writes: q.Writes, Path: q.Path, Host: q.Host, VMID: q.VMID, Nth: q.Nth, Times: q.Times, Chance: q.Chance, Delay: delay,
		Status: q.Status, Text: q.Text, Phase: q.Phase, Key: q.Key, Value: q.Value, AfterActing: q.AfterActing,
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func edit(w http.ResponseWriter, r *http.Request, sim *pvesim.Sim) {
	var q struct {
		VMID  int    `json:"vmid"`
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	if !readJSON(w, r, &q) {
		return
	}
	if err := sim.Edit(q.VMID, q.Key, q.Value); err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// readJSON decodes a small body strictly. If it cannot, it replies with 400 and returns false.
func readJSON[T any](w http.ResponseWriter, r *http.Request, into *T) bool {
	d := json.NewDecoder(io.LimitReader(r.Body, 64<<10))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		http.Error(w, "decode request: "+err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func writeJSON[T any](w http.ResponseWriter, v T) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(b, '\n'))
}
