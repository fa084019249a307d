package form

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// sizeUnits are the units of a disk size, each 1024 times the one before it.
const sizeUnits = "KMGT"

// Units of sizes in bytes.
const (
	Mebibyte = 1 << 20
	gibibyte = 1 << 30
)

// ParseSize returns the bytes of a disk size in Proxmox's form: "32G", "4608M", "4.5G", "1048576". A fraction of a byte is cut off. It
// returns an error for any other text, and for sizes of 8 EiB and more.
//
// Source: PVE JSON schema, format disk-size.
func ParseSize(text string) (int64, error) {
	digits, factor := text, int64(1)
	if n := len(text); n > 0 {
		if i := strings.IndexByte(sizeUnits, text[n-1]); i >= 0 {
			digits, factor = text[:n-1], 1<<(10*(i+1))
		}
	}
	if !isDecimal(digits) {
		return 0, fmt.Errorf("got size %q, want a number with an optional unit of K, M, G or T", text)
	}
	if whole, err := strconv.ParseInt(digits, 10, 64); err == nil && whole <= math.MaxInt64/factor {
		return whole * factor, nil
	}
	bytes, err := strconv.ParseFloat(digits, 64)
	if bytes *= float64(factor); err != nil || bytes >= math.MaxInt64 {
		return 0, fmt.Errorf("got size %q, want less than 8 EiB", text)
	}
	return int64(bytes), nil
}

// FormatSize returns bytes as Proxmox prints a disk size: in the largest of the units K, M, G and T without a remainder, or in bytes without
// a unit.
func FormatSize(bytes int64) string {
	unit := -1
	for bytes != 0 && bytes%1024 == 0 && unit < len(sizeUnits)-1 {
		bytes /= 1024
		unit++
	}
	text := strconv.FormatInt(bytes, 10)
	if unit >= 0 {
		text += sizeUnits[unit : unit+1]
	}
	return text
}

// Gibibytes returns bytes in the unit of Proxmox's allocation syntax, GiB without a suffix.
func Gibibytes(bytes int64) string {
	return strconv.FormatFloat(float64(bytes)/gibibyte, 'f', -1, 64)
}

// isDecimal reports whether text is digits with at most one decimal point, with digits on both sides of it.
func isDecimal(text string) bool {
	whole, fraction, pointed := strings.Cut(text, ".")
	return IsDigits(whole) && (!pointed || IsDigits(fraction))
}

// IsDigits reports whether text is one digit or more, and nothing else.
func IsDigits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}
