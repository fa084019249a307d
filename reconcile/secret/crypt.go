package secret

import (
	"crypto/sha512"
	"slices"
)

// cryptAlphabet are the digits of a crypt text. A digit is six bits, and the digits are little-endian.
const cryptAlphabet = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// cryptRounds is the number of rounds of a text that names none. Proxmox treats a text that names its rounds as a password.
const cryptRounds = 5000

// sha512Crypt returns the SHA-512-crypt text of a password, "$6$salt$hash". The salt is at most 16 letters of cryptAlphabet.
//
// Source: Ulrich Drepper, Unix crypt using SHA-256 and SHA-512.
func sha512Crypt(password, salt string) string {
	p, s := []byte(password), []byte(salt)
	sum := cryptStart(p, s)
	pSeq, sSeq := stretch(digest512(slices.Repeat(p, len(p))), len(p)), stretch(digest512(slices.Repeat(s, 16+int(sum[0]))), len(s))
	for round := range cryptRounds {
		sum = cryptRound(round, sum, pSeq, sSeq)
	}
	return "$6$" + salt + "$" + cryptText(sum)
}

// cryptStart mixes password and salt by the bits of the password's length.
func cryptStart(p, s []byte) []byte {
	other := digest512(slices.Concat(p, s, p))
	mix := slices.Concat(p, s, stretch(other, len(p)))
	for n := len(p); n > 0; n >>= 1 {
		if n&1 == 1 {
			mix = append(mix, other...)
		} else {
			mix = append(mix, p...)
		}
	}
	return digest512(mix)
}

func cryptRound(round int, sum, pSeq, sSeq []byte) []byte {
	first, last := sum, pSeq
	if round%2 == 1 {
		first, last = pSeq, sum
	}
	h := sha512.New()
	h.Write(first)
	if round%3 != 0 {
		h.Write(sSeq)
	}
	if round%7 != 0 {
		h.Write(pSeq)
	}
	h.Write(last)
	return h.Sum(nil)
}

// cryptText writes the sum in the byte order of crypt: groups of three bytes, one from each third of the sum, and then the last byte.
func cryptText(sum []byte) string {
	text := make([]byte, 0, 86)
	put := func(bits uint32, digits int) {
		for range digits {
			text = append(text, cryptAlphabet[bits&63])
			bits >>= 6
		}
	}
	a, b, c := 0, 21, 42
	for range 21 {
		put(uint32(sum[a])<<16|uint32(sum[b])<<8|uint32(sum[c]), 4)
		a, b, c = b+1, c+1, a+1
	}
	put(uint32(sum[63]), 2)
	return string(text)
}

// stretch repeats a digest up to a length.
func stretch(digest []byte, length int) []byte {
	return slices.Repeat(digest, length/len(digest)+1)[:length]
}

func digest512(b []byte) []byte {
	sum := sha512.Sum512(b)
	return sum[:]
}
