package wire

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"testing"
)

// TestPublicShows shows texts of a call with a secret that have a known shape with public names, and withholds all others.
func TestPublicShows(t *testing.T) {
	t.Parallel()
	public := Public{"nodes", "pve1", "qemu", "100", "config", "cipassword", "scsi0", "local-lvm:32,ssd=1"}
	for text, want := range map[string]bool{
		"":                        true,
		"OK":                      true,
		"WARNINGS: 2":             true,
		"Bad Gateway":             true,
		"VM is locked (backup)":   true,
		"VM is locked (hunter2)":  false,
		"VM 100 not running":      true,
		"VM 71234 not running":    false, // may be the secret
		"VM is locked (backup) x": false,
		"Permission check failed (/vms/100, VM.Config.Options)":                 true,
		"Permission check failed (/vms/100, VM.Config.Options|VM.Allocate)":     true,
		"Permission check failed (/vms/hunter2, VM.Config.Options)":             false,
		"Permission check failed (/storage/hunter2/100, VM.Config.Options)":     false,
		"Permission check failed (/vms/100, hunter2)":                           false,
		"Permission check failed (/storage/local-lvm, Datastore.AllocateSpace)": true,
		"storage 'local-lvm' does not exist":                                    true,
		"storage 'local' does not exist":                                        false,
		"only root can set 'scsi0' config":                                      true,
		"only root can set 'args' config":                                       false,
		"value may only be 1024 characters long":                                true,
		"value 'hunter2' does not have a value in the enumeration":              false,
		"got hunter2": false,
	} {
		shown := public.Shows(text)
		if shown != text && shown != Withheld || (shown == text) != want {
			t.Errorf("%q: got %q, want it shown: %t", text, shown, want)
		}
		if got := Public(nil).Shows(text); got != text {
			t.Errorf("%q: got %q of a call without a secret", text, got)
		}
	}
	if got := public.Lines("VM is locked (backup)\nhunter2\nhunter3\nOK\n"); got != "VM is locked (backup)\n"+Withheld+"\nOK" {
		t.Errorf("got lines %q", got)
	}
}

// TestErrorsShowNoEncodedSecret puts random secrets in random encodings, whole and in part, into random places of texts of Proxmox. No form of them is in an error or a shown text.
func TestErrorsShowNoEncodedSecret(t *testing.T) {
	t.Parallel()
	const letters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789 &<>\"'%+/=$\\ü"
	random := rand.New(rand.NewPCG(46, 5))
	encodings := map[string]func(string) string{
		"plain":  func(s string) string { return s },
		"form":   url.QueryEscape,
		"path":   url.PathEscape,
		"json":   func(s string) string { b, _ := json.Marshal(s); return string(b) },
		"go":     func(s string) string { return fmt.Sprintf("%+q", s) },
		"html":   html.EscapeString,
		"base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"url64":  func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"hex":    func(s string) string { return hex.EncodeToString([]byte(s)) },
		"upper":  strings.ToUpper,
		"begin":  func(s string) string { return s[:len(s)/2] },
		"end":    func(s string) string { return s[len(s)/2:] },
		"twice":  func(s string) string { return url.QueryEscape(url.QueryEscape(s)) },
	}
	texts := []string{
		"%s", "value '%s' is not valid", "VM is locked (%s)", "Permission check failed (/vms/%s, VM.Config.Options)", "Permission check failed (/vms/100, %s)", "storage '%s' does not exist",
		"only root can set '%s' config", "WARNINGS: %s", "VM %s already exists on node 'pve1'", "can't lock file '/var/lock/qemu-server/lock-%s.conf' - got timeout", "hostname lookup '%s' failed", "OK\n%s", "%s\nOK",
	}
	public := Public{"nodes", "pve1", "qemu", "100", "config", "cipassword"}
	x := &Exchange{Method: "POST", Path: "/nodes/pve1/qemu/100/config", Public: public}
	for range 300 {
		var b strings.Builder
		runes := []rune(letters)
		for range 12 + random.IntN(20) {
			b.WriteRune(runes[random.IntN(len(runes))])
		}
		for name, encode := range encodings {
			secret := encode(b.String())
			for _, form := range texts {
				text := fmt.Sprintf(form, secret)
				api := &APIError{Status: 500, Reason: text, Message: text, Errors: map[string]string{"cipassword": text, secret: text}, Method: x.Method, Path: x.Path}
				outlets := []string{
					public.Shows(text), public.Lines(text), x.Withhold(api).Error(), fmt.Sprintf("%#v", *api), x.Withhold(&BrokenError{Sent: true, err: errors.New(text)}).Error(),
					(&Exchange{Public: public, Done: true}).Withhold(errors.New(text)).Error(),
				}
				for _, shown := range outlets {
					if strings.Contains(shown, secret) || strings.Contains(shown, b.String()) {
						t.Fatalf("%s of %q: got it shown in %q", name, b.String(), shown)
					}
				}
			}
		}
	}
}

// TestConnectionErrorsAreShown: the errors of a connection repeat nothing of a request.
func TestConnectionErrorsAreShown(t *testing.T) {
	t.Parallel()
	x := &Exchange{Public: Public{}}
	for _, err := range []error{
		&BrokenError{Sent: true, err: ErrTimeout}, &BrokenError{err: errors.New("no route")}, &BrokenError{Sent: true, err: &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}},
	} {
		if got := x.Withhold(err); got.Error() != err.Error() {
			t.Errorf("got %v, want %v", got, err)
		}
	}
	if err := x.Withhold(&BrokenError{Sent: true, err: errors.New("malformed HTTP response \"x\"")}); err.Error() != Withheld || !errors.As(err, new(*BrokenError)) {
		t.Errorf("got %v, want a withheld *BrokenError", err)
	}
}
