package fleet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Reason codes in the answers of an MQTT 5 broker.
const (
	MQTTSuccess       = 0x00
	MQTTNoSubscribers = 0x10
	MQTTNotAuthorized = 0x87
)

// PublishMQTT publishes a message by MQTT 5 with the name and password of an account. It returns the broker's reason
// code.
func PublishMQTT(ctx context.Context, address, account, password, topic, contentType string, payload []byte) (byte, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return 0, err
	}
	hello := []byte{0, 4, 'M', 'Q', 'T', 'T', 5, 0xc2, 0, 0, 0} // user, password, a clean start; no keep-alive, no properties
	for _, text := range []string{"attacker", account, password} {
		hello = appendText(hello, text)
	}
	answer, err := exchange(conn, 0x10, hello)
	if err != nil {
		return 0, err
	}
	if len(answer) < 2 || answer[1] != MQTTSuccess {
		return 0, fmt.Errorf("the broker refuses the account %s: %x", account, answer)
	}
	properties := appendText([]byte{3}, contentType)
	message := append(appendText(nil, topic), 0, 1) // the packet's identifier
	message = append(appendLength(message, len(properties)), properties...)
	answer, err = exchange(conn, 0x32, append(message, payload...)) // quality of service 1: at least once
	switch {
	case err != nil:
		return 0, err
	case len(answer) < 2:
		return 0, fmt.Errorf("the broker answers %x", answer)
	case len(answer) == 2:
		return MQTTSuccess, nil
	}
	return answer[2], nil
}

// exchange sends a packet, and returns the body of the next packet.
func exchange(conn io.ReadWriter, kind byte, body []byte) ([]byte, error) {
	if _, err := conn.Write(append(appendLength([]byte{kind}, len(body)), body...)); err != nil {
		return nil, err
	}
	var head [2]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, err
	}
	if head[1] > 127 {
		return nil, errors.New("the broker's answer is longer than any expected answer")
	}
	answer := make([]byte, head[1])
	_, err := io.ReadFull(conn, answer)
	return answer, err
}

func appendText(to []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint16(to, uint16(len(text))), text...)
}

func appendLength(to []byte, length int) []byte { return binary.AppendUvarint(to, uint64(length)) }
