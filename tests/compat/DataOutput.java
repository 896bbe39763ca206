import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;

/** Reads texts with their numbers, and writes what it read, as every Java program does it. */
public class DataOutput {
    public static void main(String[] arguments) throws IOException {
        try (DataInputStream in = new DataInputStream(new FileInputStream(arguments[0]));
                DataOutputStream out = new DataOutputStream(new FileOutputStream(arguments[1]))) {
            while (true) {
                String text;
                try {
                    text = in.readUTF();
                } catch (EOFException end) {
                    return;
                }
                out.writeUTF(text);
                out.writeChars(text);
                out.writeBytes(text);
                out.writeBoolean(in.readBoolean());
                out.writeByte(in.readByte());
                out.writeShort(in.readShort());
                out.writeChar(in.readChar());
                out.writeInt(in.readInt());
                out.writeLong(in.readLong());
                out.writeFloat(in.readFloat());
                out.writeDouble(in.readDouble());
            }
        }
    }
}
