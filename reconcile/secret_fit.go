package reconcile

import (
	"gitops-agent/reconcile/guest"
)

// misfit returns why a secret cannot be sent to this guest, or nil.
func misfit(s guest.Secret, now SecretNow, kind guest.Kind, ostype string) *SecretError {
	problem := &SecretError{Name: s.File, Hint: "put the password itself into the file, or a hash that mkpasswd -m sha-512 made"}
	switch {
	case now.Problem != nil:
		return now.Problem
	case kind == guest.Container && now.Form == SecretLongHash:
		problem.Reason = "Proxmox would take this kind of hash for the password of a container"
	case wantsPlain(ostype) && (now.Form == SecretHash || now.Form == SecretLongHash):
		problem.Reason = "the file holds a hash, and Windows needs the password itself"
		problem.Hint = "put the password itself into the file"
	default:
		return nil
	}
	return problem
}

// wantsPlain reports whether a guest of this type is given a password as it is: Windows cannot use a hash.
//
// Source: PVE API, windows_version of QemuServer/Helpers.pm: every type that begins with w.
func wantsPlain(ostype string) bool { return len(ostype) > 0 && ostype[0] == 'w' }

func ostypeOf(live guest.Observed) string {
	if live.Kind == guest.Container {
		return ""
	}
	return live.Keys["ostype"].Text
}

// wantedOSType returns the type that a virtual machine's manifest asks for, "" where it does not.
func wantedOSType(d *guest.Desired) string {
	for _, in := range d.Intents {
		if in.Key == "ostype" && in.Verb == guest.Want && d.Kind == guest.VirtualMachine {
			return in.Text
		}
	}
	return ""
}

// stepOSType returns the type by which Proxmox takes the secrets of a step.
func stepOSType(step Step, want Desired, live guest.Observed) string {
	if step.Op != OpCreate {
		return ostypeOf(live)
	}
	for i := range want.Guests {
		return wantedOSType(&want.Guests[i])
	}
	return ""
}

// ostypeChanges reports whether the guest is about to need its password in another form. It gets it after that change, since
// Proxmox hashes a password by the type that the guest has when it arrives.
func ostypeChanges(d *guest.Desired, live guest.Observed) bool {
	wanted := wantedOSType(d)
	return wanted != "" && wantsPlain(wanted) != wantsPlain(ostypeOf(live))
}
