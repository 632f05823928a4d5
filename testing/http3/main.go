// Command http3 asks a server for what clients of HTTP/3 do, with quic-go, and says what worked.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// client is a connection, and the means to move it to another port.
type client struct {
	address *net.UDPAddr
	host    string
	quic    *quic.Conn
	http    *http3.ClientConn
}

func main() {
	address := flag.String("address", "", "where the server is")
	host := flag.String("host", "", "the name that it is asked for")
	ca := flag.String("ca", "", "file of the authority that is trusted")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := connect(ctx, *address, *host, *ca)
	if err != nil {
		log.Fatal(err)
	}
	steps := []struct {
		name string
		run  func(context.Context) error
	}{
		{"get", client.get},
		{"head", client.head},
		{"body", client.body},
		{"many at once", client.manyAtOnce},
		{"cancelled", client.cancelled},
		{"migration", client.migration},
	}
	for _, step := range steps {
		if err := step.run(ctx); err != nil {
			log.Fatalf("%s: %v", step.name, err)
		}
		fmt.Println(step.name)
	}
}

func connect(ctx context.Context, address, host, ca string) (*client, error) {
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	to, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, err
	}
	transport, err := open()
	if err != nil {
		return nil, err
	}
	settings := &tls.Config{RootCAs: roots, ServerName: host, NextProtos: []string{http3.NextProtoH3}}
	conn, err := transport.Dial(ctx, to, settings, &quic.Config{})
	if err != nil {
		return nil, err
	}
	return &client{to, host, conn, (&http3.Transport{}).NewClientConn(conn)}, nil
}

func open() (*quic.Transport, error) {
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	return &quic.Transport{Conn: socket}, nil
}

// send sends a request with a body, and returns the answer with its own.
func (c *client) send(ctx context.Context, method, path string, body []byte) (*http.Response, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, "https://"+c.host+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	response, err := c.http.RoundTrip(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, nil, err
	}
	if response.StatusCode != http.StatusOK || response.ProtoMajor != 3 {
		return nil, nil, fmt.Errorf("%s, HTTP/%d", response.Status, response.ProtoMajor)
	}
	return response, answer, nil
}

func (c *client) get(ctx context.Context) error {
	_, answer, err := c.send(ctx, http.MethodGet, "/", nil)
	if err == nil && string(answer) != "GET /" {
		return fmt.Errorf("answered %q", answer)
	}
	return err
}

func (c *client) head(ctx context.Context) error {
	response, answer, err := c.send(ctx, http.MethodHead, "/", nil)
	if err == nil && (len(answer) != 0 || response.ContentLength != 6) {
		return fmt.Errorf("%d bytes of %d", len(answer), response.ContentLength)
	}
	return err
}

// body sends and receives more than any window holds.
func (c *client) body(ctx context.Context) error {
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	_, answer, err := c.send(ctx, http.MethodPost, "/", sent)
	if err == nil && !bytes.Equal(answer, sent) {
		return fmt.Errorf("%d bytes came back of %d", len(answer), len(sent))
	}
	return err
}

func (c *client) manyAtOnce(ctx context.Context) error {
	const count = 500
	failures := make([]error, count)
	var group sync.WaitGroup
	for number := range count {
		group.Go(func() {
			path := "/" + strconv.Itoa(number)
			_, answer, err := c.send(ctx, http.MethodGet, path, nil)
			if err == nil && string(answer) != "GET "+path {
				err = fmt.Errorf("answered %q", answer)
			}
			failures[number] = err
		})
	}
	group.Wait()
	return errors.Join(failures...)
}

// cancelled gives a request up; the connection has to serve the next one.
func (c *client) cancelled(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, _, err := c.send(short, http.MethodGet, "/never", nil); err == nil {
		return errors.New("it was answered")
	}
	return c.get(ctx)
}

// migration moves the connection to other ports, with other connection IDs (RFC 9000, section 9).
func (c *client) migration(ctx context.Context) error {
	for range 3 {
		transport, err := open()
		if err != nil {
			return err
		}
		path, err := c.quic.AddPath(transport)
		if err != nil {
			return err
		}
		if err := path.Probe(ctx); err != nil {
			return fmt.Errorf("probe: %w", err)
		}
		if err := path.Switch(); err != nil {
			return fmt.Errorf("switch: %w", err)
		}
		if err := c.get(ctx); err != nil {
			return err
		}
	}
	return nil
}
