package agent

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"gitops-agent/reconcile/event"
)

// reload asks Run to go on with another config.
type reload struct {
	config  Config
	changed []string
	done    chan<- error
}

// Reload makes a running agent go on with the config that read returns, and with the present content of every file that the config names. All of it comes
// into force, or nothing: after an error the agent goes on as before. Like a restart, it first waits for the replies to calls that were sent, at most for
// shutdown_timeout. It returns when the new config is in force, and logs which fields changed, or the error.
func (a *Agent) Reload(ctx context.Context, read func() (Config, error)) error {
	a.manager.Reloading()
	defer a.manager.Ready()
	config, err := read()
	if err == nil {
		err = a.reload(ctx, config)
	}
	if err != nil && ctx.Err() == nil {
		a.events.Happened(event.ConfigRefused, event.Details{Fields: []any{"error", err}})
	}
	return err
}

func (a *Agent) reload(ctx context.Context, config Config) error {
	changed := changedFields(a.current.Load().config, config)
	for _, field := range changed {
		if needsRestart(field) {
			return fmt.Errorf("%s: a change of this field needs a restart of the agent", field)
		}
	}
	if err := config.Check(); err != nil {
		return err
	}
	done := make(chan error, 1)
	select {
	case a.reloads <- reload{config, changed, done}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// needsRestart reports whether a field decides what the process holds for its whole life: the lock of the state directory, the connection to etcd, and the listener.
func needsRestart(field string) bool {
	switch field {
	case "cluster.name", "state_dir", "journal.etcd", "listen", "status.web_config_file":
		return true
	}
	return false
}

// runSessions runs one session after the other until ctx ends. It returns an error of an engine, or of parts that cannot be opened again.
func (a *Agent) runSessions(ctx context.Context) error {
	for {
		end, err := a.current.Load().run(ctx, a.reloads, a.replicas, a.opts.DryRun)
		switch {
		case end.role && ctx.Err() == nil && err == nil:
			err = a.changeRole(ctx)
		case end.asked == nil:
			return err
		case err == nil:
			err = a.replaceSession(ctx, *end.asked)
		}
		if err != nil && end.asked != nil {
			end.asked.done <- err
		}
		if err != nil {
			return err
		}
	}
}

// replaceSession opens the parts of another config in place of those of a session that has ended, or the same parts again if that fails. It returns an
// error if these cannot be opened either.
func (a *Agent) replaceSession(ctx context.Context, asked reload) error {
	ended := a.current.Load()
	last := a.Report()
	a.last.Store(&last)
	if err := ended.Close(); err != nil {
		return err
	}
	next, err := a.openSession(asked.config, false) // --take-over is for the start, not for what happened since
	if err != nil {
		before, reopenErr := a.openSession(ended.config, false)
		if reopenErr != nil {
			return errors.Join(err, reopenErr)
		}
		a.current.Store(before)
		asked.done <- err
		return nil
	}
	a.current.Store(next)
	if err := errors.Join(a.configureNotifier(asked.config), a.configureTraces(asked.config)); err != nil {
		a.opts.Logger.WarnContext(ctx, "notifications or traces not changed", "error", err) // Check refused such a config
	}
	a.events.Happened(event.ConfigReloaded, event.Details{Fields: []any{"changed", strings.Join(asked.changed, " ")}})
	asked.done <- nil
	return nil
}

// roleAgain is how long an agent that could not lead waits before it tries again, so that another one can.
const roleAgain = 5 * time.Second

// changeRole opens the parts again as leader or as standby.
func (a *Agent) changeRole(ctx context.Context) error {
	ended := a.current.Load()
	last := a.Report()
	a.last.Store(&last)
	if ended.leading != nil {
		a.replicas.stepDown(ended.engine.Idle())
	}
	if err := ended.Close(); err != nil {
		a.opts.Logger.WarnContext(ctx, "parts not closed", "error", err)
	}
	for {
		next, err := a.openSession(ended.config, a.takesOver())
		if err == nil {
			a.current.Store(next)
			return errors.Join(a.configureNotifier(ended.config), a.configureTraces(ended.config))
		}
		a.opts.Logger.WarnContext(ctx, "parts not opened for the new role, trying again", "error", err)
		a.replicas.stepDown(true) // nothing was sent
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(roleAgain):
		}
	}
}

// takesOver reports whether the session to open claims the cluster although another agent has claimed it: the first one that leads.
func (a *Agent) takesOver() bool {
	if a.replicas.isStandby() {
		return false
	}
	takes := a.opts.TakeOver
	a.opts.TakeOver = false
	return takes
}

// changedFields returns the fields, as section.field, whose values differ between two configs. It returns no values.
func changedFields(before, after Config) []string {
	var changed []string
	visitFields(reflect.ValueOf(before), reflect.ValueOf(after), "", &changed)
	return changed
}

func visitFields(before, after reflect.Value, prefix string, changed *[]string) {
	for i := range before.NumField() {
		if !before.Type().Field(i).IsExported() {
			continue // not from the file
		}
		name := prefix + before.Type().Field(i).Tag.Get("yaml")
		b, a := before.Field(i), after.Field(i)
		switch {
		case reflect.DeepEqual(b.Interface(), a.Interface()):
		case prefix == "" && b.Kind() == reflect.Struct:
			visitFields(b, a, name+".", changed)
		default:
			*changed = append(*changed, name)
		}
	}
}
