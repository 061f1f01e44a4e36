import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** A cluster of one NameNode and one DataNode on loopback; ends when its standard input does. */
public class Mini {
  public static void main(String[] args) throws Exception {
    Configuration conf = new Configuration();
    conf.setInt("dfs.blocksize", 4 << 20); // files of several blocks are quick to make
    conf.setInt("dfs.namenode.fs-limits.min-block-size", 1 << 16);
    MiniDFSCluster cluster =
        new MiniDFSCluster.Builder(conf, new File(args[0])).numDataNodes(1).build();
    cluster.waitActive();
    System.out.println("READY " + cluster.getNameNodePort());
    System.out.flush();
    while (System.in.read() >= 0) {
      continue;
    }
    cluster.shutdown();
  }
}
