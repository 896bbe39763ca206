// Command judge holds a filesystem against colinmarc/hdfs, a client in Go.
//
//	judge NAMENODE USER
//	judge NAMENODE USER CODED TARGET
//
// What it finds wrong ends it with a line on standard error; "ok" says that it found
// nothing. It writes with one replica and with several, goes on with a file, reads by
// ranges, and asks for the checksum, so that each of its operations at a datanode's data
// port is done at least once.
//
// The client knows no erasure coding. With the path of a coded file, and with one that a coded
// directory is to get, it says how far it comes with reading the one and writing the other.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/colinmarc/hdfs/v2"
)

const blockBytes = 1 << 20

func main() {
	if len(os.Args) > 4 {
		coded(os.Args[1], os.Args[2], os.Args[3], os.Args[4])
		return
	}
	if err := judge(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ok")
}

func judge(namenode, user string) error {
	client, err := hdfs.NewClient(hdfs.ClientOptions{Addresses: []string{namenode}, User: user})
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer client.Close()
	if err := client.MkdirAll("/go", 0o755); err != nil {
		return fmt.Errorf("mkdir: %w", err)
	}
	data := make([]byte, 2*blockBytes+12_345)
	for i := range data {
		data[i] = byte(i * 7 / 3)
	}
	for replication := 1; replication <= 2; replication++ {
		path := fmt.Sprintf("/go/%d", replication)
		if err := write(client, path, replication, data); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		if err := appendTo(client, path, data[:777]); err != nil {
			return fmt.Errorf("append to %s: %w", path, err)
		}
		whole := append(append([]byte{}, data...), data[:777]...)
		if err := check(client, path, whole); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
	}
	return tree(client)
}

func write(client *hdfs.Client, path string, replication int, data []byte) error {
	out, err := client.CreateFile(path, replication, blockBytes, 0o644)
	if err != nil {
		return err
	}
	for start := 0; start < len(data); start += 300_000 {
		if _, err := out.Write(data[start:min(start+300_000, len(data))]); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return fmt.Errorf("flush: %w", err)
		}
	}
	return closed(out)
}

func appendTo(client *hdfs.Client, path string, data []byte) error {
	out, err := client.Append(path)
	if err != nil {
		return err
	}
	if _, err := out.Write(data); err != nil {
		return err
	}
	return closed(out)
}

// closed waits until the datanodes have told of the last block, as the client asks for.
func closed(out *hdfs.FileWriter) error {
	for attempt := 0; ; attempt++ {
		err := out.Close()
		if err == nil || !hdfs.IsErrReplicating(err) || attempt == 100 {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func check(client *hdfs.Client, path string, want []byte) error {
	in, err := client.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	got, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%d bytes came, %d were written, or they differ", len(got), len(want))
	}
	part := make([]byte, 1000)
	if _, err := in.ReadAt(part, blockBytes-500); err != nil {
		return err
	}
	if !bytes.Equal(part, want[blockBytes-500:blockBytes+500]) {
		return fmt.Errorf("a range over the end of a block differs")
	}
	sum, err := in.Checksum()
	if err != nil {
		return fmt.Errorf("checksum: %w", err)
	}
	if len(sum) != 16 {
		return fmt.Errorf("a checksum of %d bytes", len(sum))
	}
	return nil
}

func tree(client *hdfs.Client) error {
	found, err := client.ReadDir("/go")
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	if len(found) != 2 {
		return fmt.Errorf("%d entries in /go, not 2", len(found))
	}
	if err := client.Rename("/go/1", "/go/moved"); err != nil {
		return fmt.Errorf("rename: %w", err)
	}
	if _, err := client.Stat("/go/1"); !os.IsNotExist(err) {
		return fmt.Errorf("what was moved away is still there: %v", err)
	}
	if err := client.Chmod("/go/moved", 0o600); err != nil {
		return fmt.Errorf("chmod: %w", err)
	}
	info, err := client.Stat("/go/moved")
	if err != nil {
		return fmt.Errorf("stat: %w", err)
	}
	if info.Mode().Perm() != 0o600 {
		return fmt.Errorf("mode %v after chmod 600", info.Mode())
	}
	if _, err := client.StatFs(); err != nil {
		return fmt.Errorf("figures: %w", err)
	}
	if err := client.RemoveAll("/go"); err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	return nil
}

func coded(namenode, user, path, target string) {
	client, err := hdfs.NewClient(hdfs.ClientOptions{Addresses: []string{namenode}, User: user})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer client.Close()
	data, err := client.ReadFile(path)
	fmt.Printf("read %d bytes: %v\n", len(data), err)
	out, err := client.CreateFile(target, 1, blockBytes, 0o644)
	if err == nil {
		_, err = out.Write(make([]byte, 100))
		if err == nil {
			err = out.Flush()
		}
		if err == nil {
			err = closed(out)
		}
	}
	fmt.Printf("written: %v\n", err)
}
