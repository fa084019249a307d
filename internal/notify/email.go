package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"strings"
	"time"

	"gitops-agent/internal/outbound"
)

// TLSMode is how a connection to a mail server is encrypted.
type TLSMode string

// The modes.
const (
	StartTLS TLSMode = "starttls" // required after the greeting, usually on port 587
	FullTLS  TLSMode = "tls"      // from the first byte, usually on port 465
	NoTLS    TLSMode = "none"     // only without a password
)

// EmailOptions are the settings of a mail server.
type EmailOptions struct {
	Address  string // host:port
	TLS      TLSMode
	From     string
	To       []string
	Username string // "" is no authentication
	Password func() (string, error)
}

func (o EmailOptions) check() error {
	host, _, err := net.SplitHostPort(o.Address)
	if err != nil || host == "" {
		return fmt.Errorf("address: got %q, want host:port such as mail.example.org:587", o.Address)
	}
	if len(o.To) == 0 {
		return errors.New("to is required: at least one address")
	}
	for _, address := range append([]string{o.From}, o.To...) {
		if _, err := mail.ParseAddress(address); err != nil {
			return fmt.Errorf("got %q, want a mail address such as agent@example.org", address)
		}
	}
	switch o.TLS {
	case StartTLS, FullTLS:
	case NoTLS:
		if o.Username != "" {
			return errors.New("tls: none would send the password unencrypted: choose starttls or tls")
		}
	default:
		return fmt.Errorf("tls: got %q, want starttls, tls or none", o.TLS)
	}
	if o.Username != "" && o.Password != nil {
		_, err = o.Password()
	}
	return err
}

// sendEmail sends one mail. The deadline of ctx bounds the whole connection.
func (r Receiver) sendEmail(ctx context.Context, m Message) error {
	o := r.Email
	config, err := outbound.TLS(r.CAFile)
	if err != nil {
		return err
	}
	config.ServerName, _, _ = net.SplitHostPort(o.Address)
	var conn net.Conn
	if o.TLS == FullTLS {
		conn, err = (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", o.Address)
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", o.Address)
	}
	if err != nil {
		return withoutConnection(err, err)
	}
	conn = &boundedConn{conn, maxMailReplies}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	client, err := smtp.NewClient(conn, config.ServerName)
	if err != nil {
		return asReply(err, err)
	}
	if o.TLS == StartTLS {
		if err := client.StartTLS(config); err != nil {
			return asReply(err, err)
		}
	}
	if o.Username != "" {
		password, err := o.Password()
		if err != nil {
			return err
		}
		if err := client.Auth(smtp.PlainAuth("", o.Username, password, config.ServerName)); err != nil {
			return asReply(err, redacted(err, password))
		}
	}
	err = transmit(client, o, m)
	return asReply(err, err)
}

// maxMailReplies bounds what a mail server may send in one connection, in bytes, with the certificates of STARTTLS. The client of net/smtp reads lines of any length.
const maxMailReplies = 256 << 10

// boundedConn is a connection that ends when it has read a number of bytes.
type boundedConn struct {
	net.Conn
	left int
}

// Read implements net.Conn.
func (c *boundedConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, outbound.ErrTooLong
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

func transmit(client *smtp.Client, o EmailOptions, m Message) error {
	from, err := mail.ParseAddress(o.From)
	if err != nil {
		return err
	}
	if err := client.Mail(from.Address); err != nil {
		return err
	}
	for _, to := range o.To {
		address, err := mail.ParseAddress(to)
		if err != nil {
			return err
		}
		if err := client.Rcpt(address.Address); err != nil {
			return err
		}
	}
	w, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(mailOf(o, m, time.Now())); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	_ = client.Quit() // the mail was taken
	return nil
}

// mailOf returns a mail. The subject and the body are encoded, so no text of an event becomes a header.
func mailOf(o EmailOptions, m Message, now time.Time) []byte {
	var b bytes.Buffer
	to := make([]string, len(o.To))
	for i, address := range o.To {
		to[i] = encodedAddress(address)
	}
	fmt.Fprintf(&b, "From: %s\r\nTo: %s\r\n", encodedAddress(o.From), strings.Join(to, ", "))
	fmt.Fprintf(&b, "Subject: %s\r\n", mime.QEncoding.Encode("utf-8", oneLine(m.Title())))
	fmt.Fprintf(&b, "Date: %s\r\nMessage-ID: <%s.%d@gitops-agent>\r\n", now.Format(time.RFC1123Z), idOf(m.Events[0]), now.UnixNano())
	b.WriteString("Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n")
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(m.Body() + "\n"))
	_ = w.Close()
	return b.Bytes()
}

// encodedAddress returns an address whose name, such as "Küche", is in ASCII.
func encodedAddress(text string) string {
	address, err := mail.ParseAddress(text)
	if err != nil {
		return text // check has refused it
	}
	return address.String()
}

// asReply returns an error with the text of shown. It says that the server did not take the mail, if it replied so: a status of 5xx does not change with another attempt.
func asReply(err, shown error) error {
	var reply *textproto.Error
	switch {
	case !errors.As(err, &reply):
		return shown
	case reply.Code >= 500:
		return &permanentError{shown}
	}
	return &untakenError{shown}
}
