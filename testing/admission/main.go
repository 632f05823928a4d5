// Command admission judges custom resources as a kube-apiserver with their CRDs would, by running
// the API server's own code: decoding, pruning, defaulting, schema, list types and CEL rules.
//
//	admission judge CRD-FILE… < objects    one JSON object a line in, one verdict a line out
//	admission read YAML-FILE…              every document, as kubectl reads it, a JSON line each
//
// It is the referee of portcullis-api's admission; the tests of testing/admission drive it.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxLine bounds one object on standard input, in bytes; etcd stores 1.5 MiB at most.
const maxLine = 16 << 20

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "admission:", err)
		os.Exit(2)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) < 2 {
		return errors.New("usage: admission judge CRD-FILE… < objects | admission read YAML-FILE…")
	}
	buffered := bufio.NewWriter(out)
	defer buffered.Flush()
	switch command, files := args[0], args[1:]; command {
	case "judge":
		judges, err := loadJudges(files)
		if err != nil {
			return err
		}
		return judgeLines(judges, in, buffered)
	case "read":
		return readFiles(files, buffered)
	default:
		return fmt.Errorf("unknown command %q", command)
	}
}

// judgeLines answers each line as soon as it is judged, so that a caller may wait for the answer.
func judgeLines(judges judges, in io.Reader, out *bufio.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	answers := json.NewEncoder(out)
	answers.SetEscapeHTML(false)
	for lines.Scan() {
		if err := answers.Encode(judges.judge(lines.Bytes())); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return lines.Err()
}
