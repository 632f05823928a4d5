// Command grpc serves the service of gRPC's own interoperability tests, and tells by reflection what it serves. Its
// module also pins the clients: the one of those tests, and grpcurl.
package main

import (
	"flag"
	"fmt"
	"log"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/interop"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/reflection"
)

func main() {
	certificate := flag.String("certificate", "", "file of the certificate; without one it serves in clear")
	key := flag.String("key", "", "file of its key")
	flag.Parse()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	var options []grpc.ServerOption
	if *certificate != "" {
		pair, err := credentials.NewServerTLSFromFile(*certificate, *key)
		if err != nil {
			log.Fatal(err)
		}
		options = append(options, grpc.Creds(pair))
	}
	server := grpc.NewServer(options...)
	grpc_testing.RegisterTestServiceServer(server, interop.NewTestServer())
	reflection.Register(server)
	fmt.Println(listener.Addr())
	log.Fatal(server.Serve(listener))
}
