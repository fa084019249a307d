package access

import (
	"crypto/sha256"
	"sync"

	"golang.org/x/crypto/bcrypt"
)

// maxChecked bounds the remembered results of password checks.
const maxChecked = 256

// absentUser is a hash of a random text at the cost that htpasswd -B and Prometheus' documents use. It is compared with passwords of unknown users, so
// that the duration of a reply does not tell which users exist.
const absentUser = "$2a$10$936PpsjSUvKfYjz6jfkQFurX5WTlg1yxQIB9W9bhdWsZLppi6d2/6"

// users checks passwords against bcrypt hashes. bcrypt is slow on purpose, so results are remembered, and one comparison runs at a time: many wrong
// passwords can neither take all processors from the agent nor delay a user whose password was right before.
type users struct {
	hashes map[string]string // by name

	comparing sync.Mutex
	mu        sync.Mutex
	checked   map[[sha256.Size]byte]bool // by digest of user and password
}

func newUsers(hashes map[string]string) *users {
	return &users{hashes: hashes, checked: make(map[[sha256.Size]byte]bool)}
}

// check reports whether the user exists and has this password.
func (u *users) check(name, password string) bool {
	key := sha256.Sum256([]byte(name + "\x00" + password))
	if valid, known := u.remembered(key); known {
		return valid
	}
	u.comparing.Lock()
	defer u.comparing.Unlock()
	if valid, known := u.remembered(key); known { // compared while this request waited
		return valid
	}
	hash, exists := u.hashes[name]
	if !exists {
		hash = absentUser
	}
	valid := bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) == nil && exists
	u.remember(key, valid)
	return valid
}

func (u *users) remembered(key [sha256.Size]byte) (valid, known bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	valid, known = u.checked[key]
	return valid, known
}

func (u *users) remember(key [sha256.Size]byte, valid bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.checked) >= maxChecked {
		u.forgetWrong()
	}
	u.checked[key] = valid
}

// forgetWrong makes room. The right passwords stay.
func (u *users) forgetWrong() {
	for key, valid := range u.checked {
		if !valid {
			delete(u.checked, key)
		}
	}
}
