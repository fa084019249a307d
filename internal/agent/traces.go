package agent

import (
	"cmp"
	"fmt"
	"time"

	"gitops-agent/internal/traces"
	"gitops-agent/reconcile/history"
	"gitops-agent/reconcile/journal"
)

// TracesConfig defines which collector of OpenTelemetry gets traces.
type TracesConfig struct {
	// Endpoint is the address of a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318. Without a path, /v1/traces is used. Default: none, no
	// traces are sent.
	Endpoint string `yaml:"endpoint"`
	// HeadersFile is a file with headers for the collector, one in a line, such as "Authorization: Bearer …". It is read for each request. Default: none.
	HeadersFile string `yaml:"headers_file"`
	// CAFile is a file with certificates that are trusted in addition to those of the system. Default: none.
	CAFile string `yaml:"ca_file"`
	// Timeout is the upper bound of one request. Default 10s.
	Timeout Duration `yaml:"timeout"`
}

// traceSettings returns the settings of the recorder, and the problems that need no file to be found.
func (c Config) traceSettings() (traces.Settings, error) {
	t := c.Traces
	settings := traces.Settings{Branch: c.Source.Branch}
	if t == (TracesConfig{}) {
		return settings, nil
	}
	collector := &traces.Collector{Endpoint: t.Endpoint, CAFile: t.CAFile, Timeout: cmp.Or(time.Duration(t.Timeout), 10*time.Second)}
	if t.HeadersFile != "" {
		collector.Headers = func() (string, error) { return readFilled("traces.headers_file", t.HeadersFile) }
	}
	if err := collector.CheckEndpoint(); err != nil {
		return settings, fmt.Errorf("traces.%w", err)
	}
	settings.Collector = collector
	return settings, nil
}

// checkTraces returns an error if the files or the address of the collector cannot be used. It sends nothing.
func (c Config) checkTraces() error {
	settings, err := c.traceSettings()
	if err != nil || settings.Collector == nil {
		return err
	}
	if err := settings.Collector.Check(); err != nil {
		return fmt.Errorf("traces: %w", err)
	}
	return nil
}

// configureTraces brings the traces of a config into force.
func (a *Agent) configureTraces(c Config) error {
	settings, err := c.traceSettings()
	if a.replicas.isStandby() {
		settings = traces.Settings{} // the leader tells
	}
	if err == nil {
		a.traces.Configure(settings)
	}
	return err
}

// pastOf returns what the journal says about the processes before.
func pastOf(index *history.Index, state journal.State) traces.Past {
	const remembered = 200 // revisions
	past := traces.Past{Open: state.Open}
	if state.Accepted != nil {
		past.Commit, past.Converged = state.Accepted.Commit, true
	}
	known := false
	for _, v := range index.Revisions(remembered) {
		switch {
		case v.Refused != "":
			past.Refused = append(past.Refused, traces.Refusal{Commit: v.Commit, Reason: v.Refused})
		case v.Commit == past.Commit && !known:
			known, past.Accepted, past.Converged = true, v.Time, !v.Converged.IsZero()
		}
	}
	return past
}
