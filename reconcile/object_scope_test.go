package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/verify"
)

// wandaMay lets alice change everything, and wanda the objects that guests names.
func (l *lab) wandaMay(guests ...string) {
	l.trustSigners(
		verify.Signer{Name: "alice", Issuer: alice.Issuer, Subject: alice.Subject, May: []verify.Role{verify.RoleChange}},
		verify.Signer{Name: "wanda", Issuer: wanda.Issuer, Subject: wanda.Subject, May: []verify.Role{verify.RoleChange}, Guests: guests})
}

// changedByWanda runs an agent whose signer wanda may change other objects only, and one whose signer wanda may change all objects of the kind. The first must refuse her
// newest commit and leave the object as it is, the second carry it out.
func (l *lab) changedByWanda(c objectCase, exists bool) {
	l.Helper()
	others := "VirtualMachine/web-*"
	l.wandaMay(others)
	stop := l.start()
	eventually(l, "the refusal", func() bool { return l.engine.Report().Source.Refused != nil })
	time.Sleep(5 * time.Minute)
	if _, now := c.live(l.sim); now == exists {
		l.Errorf("got %s changed out of scope, want the revision refused", c.label)
	}
	stop()
	kind, _, _ := strings.Cut(c.label, "/")
	l.wandaMay(others, kind+"/*")
	defer l.start()()
	eventually(l, "the change in scope", func() bool { _, now := c.live(l.sim); return now == exists })
}

// TestScopeOfNewObjects makes an object of each kind.
func TestScopeOfNewObjects(t *testing.T) {
	t.Parallel()
	forEachObject(t, func(_ *testing.T, l *lab, c objectCase) {
		object := l.files["object.yaml"]
		delete(l.files, "object.yaml")
		l.push("a guest", alice)
		stop := l.start()
		l.converge()
		stop()
		l.files["object.yaml"] = object
		l.push("make it", wanda)
		l.changedByWanda(c, true)
	})
}

// TestScopeOfRemovedObjects removes an object of each kind.
func TestScopeOfRemovedObjects(t *testing.T) {
	t.Parallel()
	forEachObject(t, func(_ *testing.T, l *lab, c objectCase) {
		l.files["object.yaml"] = c.manifest("lifecycle: {destroy: allow}")
		l.push("an object", alice)
		stop := l.start()
		l.converge()
		stop()
		delete(l.files, "object.yaml")
		l.push("remove it", wanda)
		l.changedByWanda(c, false)
	})
}
