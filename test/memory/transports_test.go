//go:build integration

package memory

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

const gitPrefix = "/git"

// begun is the beginning of a reply of a git server to the request for refs.
const begun = "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n"

// overHTTPS are what a git server behind TLS sends, from the status line on. The replies of raws are sent too.
var overHTTPS = map[string]func(w io.Writer){
	"git_members_of_nothing": func(w io.Writer) { endless(w, begun+"Content-Encoding: gzip\r\n\r\n", emptyMember()) },
	"git_chunks_of_a_byte": func(w io.Writer) {
		chunks := func(text string) (all string) {
			for _, c := range text {
				all += "1\r\n" + string(c) + "\r\n"
			}
			return all
		}
		endless(w, begun+"Transfer-Encoding: chunked\r\n\r\n"+chunks("001e# service=git-upload-pack\n0000"), chunks("003cshallow "+strings.Repeat("0", 48)))
	},
	"git_packed_zeros": func(w io.Writer) {
		_, _ = io.WriteString(w, begun+"Content-Encoding: gzip\r\n\r\n")
		packed(w, func(z io.Writer) {
			endless(z, "001e# service=git-upload-pack\n0000", "00fashallow 0000000000000000000000000000000000000000"+strings.Repeat(" ", 198))
		})
	},
	"git_redirects": func(w io.Writer) {
		_, _ = io.WriteString(w, "HTTP/1.1 302 Found\r\nLocation: "+gitPrefix+"/info/refs\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	},
	"git_drip": func(w io.Writer) { // a byte, and then nothing
		_, _ = io.WriteString(w, begun+"\r\n0")
		_, _ = io.Copy(io.Discard, w.(io.Reader))
	},
}

// overSSH are what an ssh server sends, before the protocol or after a client has logged in.
var overSSH = map[string]func(s *sshServer, conn net.Conn){
	"ssh_lines":  func(_ *sshServer, conn net.Conn) { endless(conn, "", "not yet\r\n") },
	"ssh_line":   func(_ *sshServer, conn net.Conn) { endless(conn, "", "a") },
	"ssh_banner": func(s *sshServer, conn net.Conn) { s.config.BannerCallback = longBanner; s.login(conn) },
	"ssh_requests": func(s *sshServer, conn net.Conn) {
		c, _ := s.login(conn)
		for c != nil {
			if _, _, err := c.SendRequest("nothing@example.org", false, nil); err != nil {
				return
			}
		}
	},
	"ssh_stderr": func(s *sshServer, conn net.Conn) {
		if _, channel := s.login(conn); channel != nil {
			endless(channel.Stderr(), "", "no ")
		}
	},
	"ssh_packets_of_a_byte": func(s *sshServer, conn net.Conn) {
		_, channel := s.login(conn)
		for i := 0; channel != nil; i++ {
			const line = "003cshallow 000000000000000000000000000000000000000000000000"
			if _, err := channel.Write([]byte{line[i%len(line)]}); err != nil {
				return
			}
		}
	},
	"ssh_progress": func(s *sshServer, conn net.Conn) {
		if _, channel := s.login(conn); channel != nil {
			endless(channel, "0032"+strings.Repeat("0", 40)+" HEAD\n", "0005\x02")
		}
	},
	"ssh_drip": func(s *sshServer, conn net.Conn) {
		if c, _ := s.login(conn); c != nil {
			_ = c.Wait()
		}
	},
}

func longBanner(ssh.ConnMetadata) string { return strings.Repeat("welcome ", 16<<10) }

// An sshServer logs every client in and sends a shape.
type sshServer struct {
	*testing.T
	config *ssh.ServerConfig
	key    ssh.Signer
}

// login returns the connection and the channel on which the client has requested a program. Both are nil if the client has gone.
func (s *sshServer) login(conn net.Conn) (ssh.Conn, ssh.Channel) {
	c, channels, requests, err := ssh.NewServerConn(conn, s.config)
	if err != nil {
		return nil, nil
	}
	go ssh.DiscardRequests(requests)
	for request := range channels {
		channel, asked, err := request.Accept()
		if err != nil {
			return nil, nil
		}
		for r := range asked {
			_ = r.Reply(true, nil)
			if r.Type == "exec" {
				go ssh.DiscardRequests(asked)
				return c, channel
			}
		}
	}
	return nil, nil
}

// serveSSH sends the shapes, and returns the lines of a remote in a config.
func (s *stand) serveSSH() string {
	s.Helper()
	_, hostKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		s.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(hostKey)
	if err != nil {
		s.Fatal(err)
	}
	_, clientKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		s.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(clientKey, "")
	if err != nil {
		s.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(s.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				config := &ssh.ServerConfig{PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return &ssh.Permissions{}, nil }}
				config.AddHostKey(signer)
				if shape := overSSH[*s.shape.Load()]; shape != nil {
					s.arrive("ssh")
					shape(&sshServer{s.T, config, signer}, conn)
				}
			}()
		}
	}()
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		s.Fatal(err)
	}
	known := s.write("known_hosts", fmt.Sprintf("[%s]:%s %s", host, port, ssh.MarshalAuthorizedKey(signer.PublicKey())))
	return fmt.Sprintf("{url: \"ssh://git@%s/repo.git\", ssh_key_file: %s, known_hosts_file: %s}", l.Addr(), s.write("ssh_key", string(pem.EncodeToMemory(block))), known)
}

// TestHostileTransports sends what a server can send below and around git's protocol. A server that sends nothing ends the fetch after its timeout.
func TestHostileTransports(t *testing.T) {
	s := newStand(t)
	s.honest = []string{"/api2/json/"}
	s.commands["run over https"] = []string{"run", "--once", "--config", s.config("https.yaml", fmt.Sprintf("{timeout: 3s, remotes: [{url: %q, ca_file: %s}]}", s.server.URL+gitPrefix, s.path("ca.pem")), "", quiet)}
	s.commands["run over ssh"] = []string{"run", "--once", "--config", s.config("ssh.yaml", "{timeout: 3s, remotes: ["+s.serveSSH()+"]}", "", quiet)}
	fresh := func(shape string) string {
		s.shape.Store(&shape)
		return "signed"
	}
	s.compare("run over https", append(slices.Sorted(maps.Keys(overHTTPS)), slices.Sorted(maps.Keys(raws))...), fresh)
	s.compare("run over ssh", slices.Sorted(maps.Keys(overSSH)), fresh)
}
