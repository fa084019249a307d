package secret

import (
	"strings"
	"testing"
)

// TestSHA512Crypt compares with a published vector, and with texts from OpenSSL's passwd for passwords with lengths around the digest's length.
func TestSHA512Crypt(t *testing.T) {
	tests := map[string]struct{ password, salt, want string }{
		"published":  {"Hello world!", "saltstring", "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1"},
		"one_letter": {"x", "a", "$6$a$AvQLBHPFSbE4d9QOBrglBdXuv.jRoEFLHgWJlsZ6XhNHrxkMbotj9kAr0GGhdZ5XM6DM29/LJ9jZin3Aj8Tph0"},
		"umlauts":    {"Grüße, Jürgen", "0123456789abcdef", "$6$0123456789abcdef$wi7ATrxcA6QzgVrLcWYbepdCFfKzooXiWVVYRanVhMFt2yYP3p0ZP7JP/Q1i15PcvovegTliK8G3kHxDwMy1X."},
		"length_63":  {strings.Repeat("p", 63), "./zZ09", "$6$./zZ09$H8ziQTCoGE1fBTKgIlvgipsZadTG7T6vOSsohS1pMBUc6JmPxFc2udLExskia.Fr/CNVr8t4JBFsJ/BFUU6yZ1"},
		"length_64":  {strings.Repeat("p", 64), "./zZ09", "$6$./zZ09$cDWzGrPvfLaL95hFMEIl8jekhPlBJti2Gk57BSvRk2WOA2yCT36I192z.dYahCkr2v1ZGNSN569wAY6K.9Ehw/"},
		"length_65":  {strings.Repeat("p", 65), "./zZ09", "$6$./zZ09$wVPkIo77BrxZCTiH9KiuX5QW6SxhCrxZ7vQ0lhrf3WLTFr0.HH29h95b2Q/l8Vojngtbc8lcwDaxtRcKWqmYl1"},
		"length_127": {strings.Repeat("p", 127), "./zZ09", "$6$./zZ09$SduGKa6S9zqgGTHCN5zluZk5mdOJkuAY5YsKvxOaoJ0kfzwc6ZilVkOHgRndBYuHVE66udDiCeY.6yhjRZPgC1"},
		"length_128": {strings.Repeat("p", 128), "./zZ09", "$6$./zZ09$.Mw0Sljq9UD6vefZ4Hq/K5YNP2rZgcbt6/NU7I7u77NEZVx24tQjle6VzSp1DDQUCrIVEHbF.saksnFgQYIi61"},
		"length_200": {strings.Repeat("p", 200), "./zZ09", "$6$./zZ09$e35RiaFRE3b5Xr.NGGLvn1VDrZigvKfcwXbhZ0VMngzdN7ETjcHz/87cu.dSF0UrfmHKVlBdiR.i.N8PLaskR/"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := sha512Crypt(test.password, test.salt); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
