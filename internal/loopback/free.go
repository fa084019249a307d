package loopback

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync/atomic"
)

// taken counts the results of FreeAddress.
var taken atomic.Uint32

// FreeAddress returns an address of this machine, as "IP:port", for a program that is started later, or that is started again. On Linux it has an IP of its
// own, derived from this process and the number of its earlier results (it repeats after 254 of them), because another program that asks for any port of
// the same IP could get this one in the meantime, and so could a connection from 127.0.0.1.
func FreeAddress() (string, error) {
	pid, n := os.Getpid(), taken.Add(1)
	var listening net.ListenConfig
	l, err := listening.Listen(context.Background(), "tcp", fmt.Sprintf("127.%d.%d.%d:0", 64+pid>>8&0x7f, pid&0xff, 1+(n-1)%254))
	if err != nil {
		l, err = listening.Listen(context.Background(), "tcp", "127.0.0.1:0") // other systems have no second IP
	}
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
